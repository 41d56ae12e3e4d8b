# shellcheck shell=bash
# What a secured cluster of rig/kafka and its clients prove themselves with. Sourced by rig/kafka, never run.
#
# DIR/secrets holds, all with the password rig-secret:
#   ca.pem                      the authority of all certificates
#   trust.jks, trust.p12        the same as trust stores that keytool has made
#   broker.p12                  the brokers' key, for 127.0.0.1 and no other name
#   client.jks, client.p12      the key of CN=client; in client.jks it has the password key-secret of its own
#   client.pem                  the same as PEM, the private key encrypted with key-secret
#   stranger.p12                a key that no authority has signed
#   token.pem, jwks.json        the key that signs tokens, and what brokers know it by

store_password=rig-secret
key_password=key-secret
# session_ms: how long those who log in with a token, or by SCRAM-SHA-512 without TLS, may stay without logging in again
# (KIP-368). A broker has no such limit by default, and hangs up on who goes over it.
session_ms=2000

# keytool_quietly: keytool, with its words for people only if it fails.
keytool_quietly() {
    local out
    out=$(keytool "$@" 2>&1) || fail "keytool $1 failed: $out"
}

# pair NAME DNAME [OPTION...]: a key in $to/NAME.p12, signed by itself.
pair() {
    local name=$1 dname=$2
    shift 2
    keytool_quietly -genkeypair -alias "$name" -keyalg EC -groupname secp256r1 -dname "$dname" -validity 3650 -storetype PKCS12 \
        -keystore "$to/$name.p12" -storepass "$store_password" "$@"
}

# certified NAME [OPTION...]: have the key of $to/NAME.p12 signed by the authority, with the extensions of the options.
certified() {
    local name=$1
    shift
    keytool_quietly -certreq -alias "$name" -keystore "$to/$name.p12" -storepass "$store_password" -file "$to/$name.csr"
    keytool_quietly -gencert -alias ca -keystore "$to/ca.p12" -storepass "$store_password" -infile "$to/$name.csr" -outfile "$to/$name.crt" -rfc -validity 3650 "$@"
    keytool_quietly -importcert -noprompt -alias ca -keystore "$to/$name.p12" -storepass "$store_password" -file "$to/ca.pem"
    keytool_quietly -importcert -noprompt -alias "$name" -keystore "$to/$name.p12" -storepass "$store_password" -file "$to/$name.crt"
}

# jwks: the public half of the key of tokens as a set of keys (RFC 7517).
jwks() {
    local modulus
    modulus=$(openssl rsa -in "$to/token.pem" -noout -modulus 2>/dev/null | cut -d= -f2 | sed 's/../\\x&/g')
    modulus=$(printf '%b' "$modulus" | base64 -w0 | tr '+/' '-_' | tr -d '=')
    printf '{"keys":[{"kty":"RSA","kid":"rig","use":"sig","alg":"RS256","e":"AQAB","n":"%s"}]}\n' "$modulus"
}

# secrets: make DIR/secrets unless it is there.
secrets() {
    local to format
    [ ! -d "$dir/secrets" ] || return 0
    need keytool "install a Java runtime (Debian: apt-get install openjdk-17-jre-headless)"
    need openssl "install openssl, which makes PEM of keytool's stores (Debian: apt-get install openssl)"
    mkdir -p "$dir"
    to=$(mktemp -d "$dir/secrets.XXXXXX")
    pair ca CN=rig-authority -ext bc:c
    keytool_quietly -exportcert -rfc -alias ca -keystore "$to/ca.p12" -storepass "$store_password" -file "$to/ca.pem"
    pair broker CN=broker
    certified broker -ext san=ip:127.0.0.1
    pair client CN=client
    certified client -ext eku=clientAuth
    pair stranger CN=stranger
    for format in jks pkcs12; do
        keytool_quietly -importcert -noprompt -alias authority -storetype "$format" -keystore "$to/trust.${format/pkcs12/p12}" -storepass "$store_password" -file "$to/ca.pem"
    done
    keytool_quietly -importkeystore -noprompt -srckeystore "$to/client.p12" -srcstorepass "$store_password" -srcalias client \
        -destkeystore "$to/client.jks" -deststoretype JKS -deststorepass "$store_password" -destkeypass "$key_password"
    openssl pkcs12 -in "$to/client.p12" -passin "pass:$store_password" -passout "pass:$key_password" -out "$to/client.pem" 2>/dev/null ||
        fail "openssl could not read what keytool has made" "openssl pkcs12 -in $to/client.p12"
    openssl genrsa -out "$to/token.pem" 2048 2>/dev/null
    jwks >"$to/jwks.json"
    rm -f "$to"/*.csr "$to"/*.crt
    chmod 755 "$to"
    mv "$to" "$dir/secrets"
}

# secured ID: the properties of a broker that has, beside its own listener for the rig, one for each way in. Users and
# passwords are those of SCRAM and PLAIN; owner may do all, reader what the rights that a test gives let it.
secured() {
    local id=$1 module=org.apache.kafka.common.security listener
    cat <<EOF
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:owner;User:CN=client
ssl.keystore.type=PKCS12
ssl.keystore.location=$dir/secrets/broker.p12
ssl.keystore.password=$store_password
ssl.truststore.type=PKCS12
ssl.truststore.location=$dir/secrets/trust.p12
ssl.truststore.password=$store_password
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class=$module.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer.jwks.endpoint.url=file://$dir/secrets/jwks.json
listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer.expected.audience=kafka
listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer.expected.issuer=https://rig
listener.name.sasl_ssl.oauthbearer.connections.max.reauth.ms=$session_ms
listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms=$session_ms
listener.name.sasl_plaintext.scram-sha-512.connections.max.reauth.ms=$session_ms
EOF
    for listener in sasl_plaintext sasl_ssl; do
        cat <<EOF
listener.name.$listener.plain.sasl.jaas.config=$module.plain.PlainLoginModule required user_owner="owner-secret" user_reader="reader-secret";
listener.name.$listener.scram-sha-256.sasl.jaas.config=$module.scram.ScramLoginModule required;
listener.name.$listener.scram-sha-512.sasl.jaas.config=$module.scram.ScramLoginModule required;
listener.name.$listener.oauthbearer.sasl.jaas.config=$module.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
EOF
    done
}

# scram: the users of SCRAM, as options of StorageTool.
scram() {
    local user mechanism
    for user in owner reader; do
        for mechanism in SCRAM-SHA-256 SCRAM-SHA-512; do printf '%s\n' --add-scram "$mechanism=[name=$user,password=$user-secret]"; done
    done
}
