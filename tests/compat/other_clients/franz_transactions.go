// Transactions of franz-go, one after the other: SERVERS TOPIC PARTITIONS PRODUCERS SECONDS. Each writes one record
// to every partition; every tenth is aborted. Prints each failure, and at last how many were committed, aborted and
// failed.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var committed, aborted, failed atomic.Int64

func main() {
	servers, topic := strings.Split(os.Args[1], ","), os.Args[2]
	partitions, _ := strconv.Atoi(os.Args[3])
	producers, _ := strconv.Atoi(os.Args[4])
	seconds, _ := strconv.Atoi(os.Args[5])
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var group sync.WaitGroup
	for number := range producers {
		identity := fmt.Sprintf("franz-%d", number)
		client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.TransactionalID(identity),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
		if err != nil {
			panic(err)
		}
		group.Add(1)
		go func() {
			defer group.Done()
			for attempt := 1; time.Now().Before(end); attempt++ {
				play(client, topic, partitions, fmt.Sprintf("%s %d", identity, attempt), attempt%10 == 0)
			}
			client.Close()
		}()
	}
	group.Wait()
	fmt.Printf("%d committed, %d aborted, %d failed\n", committed.Load(), aborted.Load(), failed.Load())
}

func play(client *kgo.Client, topic string, partitions int, name string, abort bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		panic(err)
	}
	records := make([]*kgo.Record, partitions)
	for partition := range partitions {
		records[partition] = &kgo.Record{Topic: topic, Partition: int32(partition), Value: []byte(name)}
	}
	err := client.ProduceSync(ctx, records...).FirstErr()
	end := kgo.TransactionEndTry(err == nil && !abort)
	if ended := client.EndTransaction(ctx, end); err == nil {
		err = ended
	}
	switch {
	case err != nil:
		fmt.Printf("%s: %v\n", name, err)
		failed.Add(1)
	case abort:
		aborted.Add(1)
	default:
		committed.Add(1)
	}
}
