package tlsfile

import "errors"

// Property is a setting of TLS: how it is read into Files, and what it is, for the documentation.
type Property struct {
	Set func(f *Files, value string) error
	Doc string
}

// Properties are the settings of TLS by the names that Java's clients give them, alike for brokers and schema registries.
var Properties = map[string]Property{
	"ssl.truststore.type":                   {Set: checked(func(f *Files) *string { return &f.TrustType }, CheckType), Doc: "`PEM`, `JKS` or `PKCS12`; if it is not given the file tells"},
	"ssl.truststore.location":               {Set: text(func(f *Files) *string { return &f.Trust }), Doc: "a file with the certificates to trust, PEM or made by keytool; those of the system if it is not given"},
	"ssl.truststore.password":               {Set: text(func(f *Files) *string { return &f.TrustPassword }), Doc: "its password, for JKS and PKCS12; a secret"},
	"ssl.truststore.certificates":           {Set: text(func(f *Files) *string { return &f.TrustPEM }), Doc: "the certificates themselves, in PEM"},
	"ssl.keystore.type":                     {Set: checked(func(f *Files) *string { return &f.KeyType }, CheckType), Doc: "`PEM`, `JKS` or `PKCS12`; if it is not given the file tells"},
	"ssl.keystore.location":                 {Set: text(func(f *Files) *string { return &f.Key }), Doc: "a file with this client's private key and its certificate chain"},
	"ssl.keystore.password":                 {Set: text(func(f *Files) *string { return &f.StorePassword }), Doc: "its password, for JKS and PKCS12; a secret"},
	"ssl.key.password":                      {Set: text(func(f *Files) *string { return &f.KeyPassword }), Doc: "the password of the private key, in PEM or JKS; that of the JKS file if it is not given; a secret"},
	"ssl.keystore.certificate.chain":        {Set: text(func(f *Files) *string { return &f.ChainPEM }), Doc: "the certificate chain itself, in PEM"},
	"ssl.keystore.key":                      {Set: text(func(f *Files) *string { return &f.KeyPEM }), Doc: "the private key itself, in PEM (PKCS#8, encrypted or not); a secret"},
	"ssl.endpoint.identification.algorithm": {Set: (*Files).CheckHost, Doc: "`https`, which is the default; an empty text turns the check of the host name off"},
	"ssl.enabled.protocols":                 {Set: checked(func(f *Files) *string { return &f.Protocols }, CheckProtocols), Doc: "`TLSv1.2`, `TLSv1.3`, or both, which is the default"},
	"ssl.cipher.suites":                     {Set: checked(func(f *Files) *string { return &f.Ciphers }, CheckCiphers), Doc: "the suites that may be used. Those of TLS 1.3 count together: with none of them that version is off"},
}

func text(field func(*Files) *string) func(*Files, string) error {
	return checked(field, func(value string) error {
		if value == "" { // as of a variable that was meant to be set
			return errors.New("want a text that is not empty")
		}
		return nil
	})
}

// checked is a text that is held to something.
func checked(field func(*Files) *string, check func(string) error) func(*Files, string) error {
	return func(f *Files, value string) error {
		if err := check(value); err != nil {
			return err
		}
		*field(f) = value
		return nil
	}
}
