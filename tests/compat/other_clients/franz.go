// Two franz-go clients in one group: produce, share, read everything, commit, leave.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	servers, topic := os.Args[1], os.Args[2]
	count, _ := strconv.Atoi(os.Args[3])
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var mutex sync.Mutex
	seen := map[string]bool{}
	var group sync.WaitGroup
	clients := []*kgo.Client{}
	for range 2 {
		client, err := kgo.NewClient(kgo.SeedBrokers(servers), kgo.ConsumerGroup("franz"), kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
		if err != nil {
			panic(err)
		}
		clients = append(clients, client)
	}
	for number := range count {
		record := kgo.Record{Topic: topic, Value: []byte(fmt.Sprint(number))}
		if err := clients[0].ProduceSync(ctx, &record).FirstErr(); err != nil {
			panic(err)
		}
	}
	done, stop := context.WithCancel(ctx)
	for _, client := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			for done.Err() == nil {
				fetches := client.PollFetches(done)
				fetches.EachRecord(func(record *kgo.Record) {
					mutex.Lock()
					seen[string(record.Value)] = true
					mutex.Unlock()
				})
				if err := client.CommitUncommittedOffsets(ctx); err != nil {
					panic(err)
				}
				mutex.Lock()
				if len(seen) == count {
					stop()
				}
				mutex.Unlock()
			}
		}()
	}
	group.Wait()
	stop()
	for _, client := range clients {
		client.Close()
	}
	fmt.Println("read", len(seen))
}
