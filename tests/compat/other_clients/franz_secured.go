// franz-go comes in by a protocol and a mechanism, writes a record and reads it back; the last word is its value.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() {
	servers, topic, mechanism, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	authority, certificate, key := os.Args[5], os.Args[6], os.Args[7]
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	value := fmt.Sprintf("%s-%d", mechanism, time.Now().UnixNano())
	options := []kgo.Opt{kgo.SeedBrokers(servers), kgo.ConsumeTopics(topic), kgo.RequestRetries(0),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200 * time.Millisecond)}
	if authority != "" {
		options = append(options, kgo.DialTLSConfig(config(authority, certificate, key)))
	}
	switch mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: "alice", Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: "alice", Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: "alice", Pass: password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: password}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	check(err)
	defer client.Close()
	check(client.Ping(ctx))
	check(client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr())
	for found := false; !found; {
		fetches := client.PollFetches(ctx)
		check(ctx.Err())
		fetches.EachRecord(func(record *kgo.Record) { found = found || string(record.Value) == value })
	}
	fmt.Println("read", value)
}

func config(authority, certificate, key string) *tls.Config {
	pem, err := os.ReadFile(authority)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	found := &tls.Config{RootCAs: roots}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		check(err)
		found.Certificates = []tls.Certificate{own}
	}
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
