package kafkaauth

import (
	"strings"
	"testing"
)

const (
	plainLogin = `org.apache.kafka.common.security.plain.PlainLoginModule required username="etl" password="hunter2";`
	scramLogin = `org.apache.kafka.common.security.scram.ScramLoginModule required username="etl" password="hunter2";`
	oauthLogin = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required `
	mskLogin   = `software.amazon.msk.auth.iam.IAMLoginModule required `
)

func TestLoginsThatCannotBeAreToldByTheirProperty(t *testing.T) {
	endpoint := OAuth{Endpoint: "https://idp/token"}
	for _, c := range []struct {
		login          Login
		property, want string
	}{
		{Login{}, mechanismName, "is required with SASL"},
		{Login{JAAS: scramLogin}, mechanismName, "want SCRAM-SHA-256 or SCRAM-SHA-512"},
		{Login{Mechanism: Plain}, jaasName, "is required for PLAIN: want org.apache.kafka.common.security.plain.PlainLoginModule required username="},
		{Login{Mechanism: Plain, Username: "etl"}, passwordName, "is required"},
		{Login{Mechanism: Plain, Password: "hunter2"}, userName, "is required"},
		{Login{Mechanism: Plain, JAAS: plainLogin, Username: "etl"}, jaasName, "one of the two"},
		{Login{Mechanism: Plain, JAAS: scramLogin}, jaasName, "has the login module of SCRAM-SHA-256 and SCRAM-SHA-512, and sasl.mechanism is PLAIN, whose is org.apache"},
		{Login{Mechanism: Scram256, JAAS: `com.example.Login required;`}, jaasName, "that sluice does not know; that for SCRAM-SHA-256 is org.apache"},
		{Login{Mechanism: Scram256, JAAS: `com.sun.security.auth.module.Krb5LoginModule required;`}, jaasName, "Kerberos cannot be used"},
		{Login{Mechanism: Scram256, JAAS: strings.Replace(scramLogin, "username", "usrname", 1)}, jaasName, "number 1 of the list; did you mean username?"},
		{Login{Mechanism: Scram256, JAAS: strings.Replace(scramLogin, `"hunter2"`, `"a" hunter2="x"`, 1)}, jaasName, "number 3 of the list: want username, password, tokenauth"},
		{Login{Mechanism: Scram256, JAAS: strings.Replace(scramLogin, `username="etl"`, "", 1)}, jaasName, "lacks the option"},
		{Login{Mechanism: Scram256, JAAS: strings.Replace(scramLogin, ";", " tokenauth=hunter2;", 1)}, jaasName, "tokenauth, which is true or false"},
		{Login{Mechanism: Scram256, JAAS: "x"}, jaasName, "at character 2: want required"},
		{Login{Mechanism: OAuthBearer}, endpointName, "is required for OAUTHBEARER"},
		{Login{Mechanism: OAuthBearer, Username: "etl"}, userName, "is not for OAUTHBEARER"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint}, idName, "is required"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint, JAAS: oauthLogin + `clientId="etl";`}, secretName, "is required"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint, JAAS: oauthLogin + `unsecuredLoginStringClaim_sub="etl";`}, endpointName, "one of the two"},
		{Login{Mechanism: OAuthBearer, JAAS: oauthLogin + `unsecuredLoginNumberClaim_x="1";`}, jaasName, "lacks the option unsecuredLoginStringClaim_sub"},
		{Login{Mechanism: OAuthBearer, JAAS: oauthLogin + `unsecuredLoginStringClaim_sub="etl" unsecuredLoginNumberClaim_x="hunter2";`}, jaasName, "is no number"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint, JAAS: oauthLogin + `clientId="etl" clientSecret="hunter2" extension_auth="x";`}, jaasName, "extension_ whose name"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint, JAAS: oauthLogin + `clientId="etl" clientSecret="hunter2" extension_a="";`}, jaasName, "extension_ whose value"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint, JAAS: oauthLogin + `clientId="etl" clientSecret="hunter2" ssl.truststor="x";`}, jaasName, "option of TLS that sluice does not know"},
		{Login{Mechanism: MSKIAM, JAAS: mskLogin + `awsProfilName="hunter";`}, jaasName, "did you mean awsProfileName?"},
		{Login{Mechanism: MSKIAM, Username: "etl"}, userName, "is not for AWS_MSK_IAM"},
	} {
		got := c.login.Validate()
		if len(got) != 1 || got[0].Property != c.property || !strings.Contains(got[0].Message, c.want) || strings.Contains(got[0].Message, "hunter") {
			t.Errorf("got %+v, want %s: %s", got, c.property, c.want)
		}
	}
	for value, want := range map[string]string{"GSSAPI": "Kerberos cannot be used: there is no maintained library", "scram": "want PLAIN, SCRAM-SHA-256"} {
		if err := CheckMechanism(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
}

func TestLoginsSayWhoLogsInAndKeepTheirSecrets(t *testing.T) {
	endpoint := OAuth{Endpoint: "https://idp/token", ClientID: "etl", ClientSecret: "hunter2"}
	for _, c := range []struct {
		login Login
		want  string
	}{
		{Login{Mechanism: Plain, JAAS: plainLogin}, "user etl by PLAIN"},
		{Login{Mechanism: Scram512, JAAS: "kafkashaded." + scramLogin}, "user etl by SCRAM-SHA-512"},
		{Login{Mechanism: Scram256, Username: "etl", Password: "hunter2"}, "user etl by SCRAM-SHA-256"},
		{Login{Mechanism: OAuthBearer, OAuth: endpoint}, "by OAUTHBEARER, as client etl of https://idp/token"},
		{Login{Mechanism: OAuthBearer, OAuth: OAuth{Endpoint: "https://idp/token"}, JAAS: oauthLogin + `clientId="etl" clientSecret="hunter2" scope="kafka" extension_logicalCluster="lkc-1";`}, "by OAUTHBEARER, as client etl of https://idp/token"},
		{Login{Mechanism: OAuthBearer, OAuth: OAuth{Endpoint: "file:///run/token"}}, "by OAUTHBEARER, with the token in /run/token"},
		{Login{Mechanism: OAuthBearer, JAAS: oauthLogin + `unsecuredLoginStringClaim_sub="etl";`}, "by OAUTHBEARER, with a token without a signature"},
		{Login{Mechanism: MSKIAM}, "by AWS_MSK_IAM, by the AWS credentials of the environment"},
		{Login{Mechanism: MSKIAM, JAAS: mskLogin + `awsProfileName="dev";`}, "by AWS_MSK_IAM, by the AWS profile dev"},
		{Login{Mechanism: MSKIAM, JAAS: "shadedmskiam." + mskLogin + `awsRoleArn="arn:aws:iam::1:role/etl" awsRoleSecretAccessKey="hunter2";`}, "by AWS_MSK_IAM, as role arn:aws:iam::1:role/etl"},
	} {
		if faults := c.login.Validate(); faults != nil {
			t.Errorf("%s: got %+v", c.want, faults)
		}
		if got := c.login.Describe(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		mechanism, err := c.login.New()
		if err != nil || mechanism.Name() != c.login.Mechanism {
			t.Errorf("%s: got %v, %v", c.want, mechanism, err)
		}
	}
}

func TestEndpointsOfTokensAreAddressesOrFiles(t *testing.T) {
	for _, value := range []string{"https://idp/token", "http://127.0.0.1:8080/token", "file:///run/secrets/token"} {
		if err := CheckEndpoint(value); err != nil {
			t.Errorf("%s: got %v", value, err)
		}
	}
	for _, value := range []string{"idp/token", "ftp://idp/token", "file://run/token", "https://", "https://etl:hunter2@idp/token", ":"} {
		if err := CheckEndpoint(value); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error", value, err)
		}
	}
}
