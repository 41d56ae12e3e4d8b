import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Apache Iceberg's own REST catalog server, as its compatibility kit has it, on 127.0.0.1 alone: the kit's main class
 * listens on every address, and shares its port with whoever asks. Catalog and protocol are the kit's.
 *
 * <p>Arguments: the port, the path of the database, the warehouse, the endpoint of the S3 server.
 */
public class RestCatalog {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("jdbc.schema-version", "V1");
    properties.put("uri", "jdbc:sqlite:" + args[1]);
    properties.put("clients", "1"); // SQLite refuses a second writer
    properties.put("warehouse", args[2]);
    properties.put("io-impl", "org.apache.iceberg.aws.s3.S3FileIO");
    properties.put("s3.endpoint", args[3]);
    properties.put("s3.path-style-access", "true");
    RESTCatalogAdapter adapter =
        new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("rig", properties, null));

    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
    server.setHandler(context);
    server.start();
    server.join();
  }
}
