package lakesink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"sluice/batch"
	"sluice/lakesink/restcatalog"
)

// restAnswer bounds the opening of a REST catalog, which is a request or two.
const restAnswer = 8 * time.Second

// openREST asks a REST catalog for its configuration. Its warehouse is a name on the server, or a location there, or none.
func openREST(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, restAnswer, fmt.Errorf("no answer within %s", restAnswer))
	defer cancel()
	c, err := restcatalog.Open(ctx, restcatalog.Options{Name: o.Name, URI: o.URI, Warehouse: o.Warehouse, Properties: o.Properties, OpenStore: openLent})
	if err != nil {
		return nil, explain(fmt.Sprintf("open the catalog %s", o), late(ctx, err))
	}
	return c, nil
}

// restRefusals are hints by the status of a refusal.
var restRefusals = map[int]string{
	http.StatusUnauthorized: restLogin,
	419:                     restLogin,
	http.StatusForbidden:    "the catalog knows who asks and does not allow it: give the principal the privileges on the namespace and the table",
	http.StatusRequestEntityTooLarge: "a proxy before the catalog takes no requests of this size: raise its limit, " +
		"and let snapshots expire so that commits stay small",
}

const restLogin = "check token or credential, scope and oauth2-server-uri in sink.iceberg.catalog.properties: the catalog does not take them"

// restMeaning knows the answers of REST catalogs.
func restMeaning(err error) (class batch.Class, hint string, ok bool) {
	var refusal *restcatalog.Answer
	var stranger *restcatalog.Stranger
	var misuse *restcatalog.Misuse
	var token *restcatalog.TokenError
	var busy *restcatalog.Busy
	switch {
	case errors.As(err, &refusal):
		if hint := restRefusals[refusal.Status]; hint != "" {
			return batch.NotSetUp, hint, true
		}
		return batch.NotSetUp, "the catalog does not take this request: its own words, above, say why", true
	case errors.As(err, &misuse):
		return batch.NotSetUp, "correct sink.iceberg.catalog in the job", true
	case errors.As(err, &token) && token.At != "":
		return batch.NotSetUp, "check oauth2-server-uri in sink.iceberg.catalog.properties, or whether a proxy or a login page stands before it", true
	case errors.As(err, &token) && token.Status >= 400 && token.Status < 500 && token.Status != http.StatusTooManyRequests:
		return batch.NotSetUp, restLogin, true
	case errors.As(err, &stranger):
		return batch.NotSetUp, "check sink.iceberg.catalog.uri: it is the address to which /v1/config is added, without /v1", true
	case errors.As(err, &busy), errors.Is(err, rest.ErrServiceUnavailable), errors.Is(err, rest.ErrServerError), errors.Is(err, rest.ErrCommitStateUnknown):
		return batch.Failed, "the catalog is overloaded or out of order: run again when it is well", true
	case errors.Is(err, rest.ErrEndpointNotSupported):
		return batch.NotSetUp, "this catalog does not offer what is needed: it must let tables be loaded, created and committed to", true
	}
	return tlsMeaning(err)
}

// tlsMeaning knows what is wrong with a connection that both sides wanted.
func tlsMeaning(err error) (class batch.Class, hint string, ok bool) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return batch.NotSetUp, "name the file with the certificates to trust as ssl.cabundle in sink.iceberg.catalog.properties", true
	case errors.As(err, &host), errors.As(err, &invalid):
		return batch.NotSetUp, "the server's certificate is not for this address or not valid now: correct the address, the certificate or the clock", true
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return batch.NotSetUp, "the server does not speak TLS there: check http and https in the address", true
	}
	return 0, "", false
}
