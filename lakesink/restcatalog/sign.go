package restcatalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"
)

// signed proves who asks by AWS Signature Version 4, as Amazon's own catalogs want it (Glue, S3 Tables, API Gateway).
type signed struct {
	config  aws.Config
	service string
	now     func() time.Time
	cache   *aws.CredentialsCache
}

// newSigned takes credentials from rest.access-key-id and its kin, else from the usual places of AWS, and so the region.
func newSigned(p map[string]string, now func() time.Time) (proof, error) {
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})} // what fails is an error besides
	if region := p[keyRegion]; region != "" {
		options = append(options, config.WithRegion(region))
	}
	if p[keyAccess] != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(p[keyAccess], p[keySecret], p[keySession])))
	}
	c, err := config.LoadDefaultConfig(context.Background(), options...)
	switch {
	case err != nil:
		return nil, &TokenError{Err: err}
	case c.Region == "":
		return nil, &Misuse{keyRegion, "is missing, and the environment names no region of AWS either"}
	}
	s := &signed{config: c, service: p[keyService], now: now}
	if s.service == "" {
		s.service = "execute-api" // as in Iceberg's Java library
	}
	if cached, ok := c.Credentials.(*aws.CredentialsCache); ok {
		s.cache = cached
	}
	return s, nil
}

func (s *signed) prove(r *http.Request, body []byte) (used, error) {
	found, err := s.config.Credentials.Retrieve(r.Context())
	if err != nil {
		return nil, &TokenError{Description: "there are no AWS credentials to sign with", Err: err}
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	r.Header.Set("X-Amz-Content-Sha256", hash)
	return s, v4.NewSigner().SignHTTP(r.Context(), found, r, hash, s.service, s.config.Region, s.now())
}

func (s *signed) secrets() []string { return nil }

// renew asks the provider of credentials again.
func (s *signed) renew(context.Context) (bool, error) {
	if s.cache == nil {
		return false, nil
	}
	s.cache.Invalidate()
	return true, nil
}
