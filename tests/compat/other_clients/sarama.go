// A sarama consumer group: produce, join, read everything, commit, leave.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type reader struct {
	mutex sync.Mutex
	seen  map[string]bool
	count int
	stop  context.CancelFunc
}

func (*reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		r.mutex.Lock()
		r.seen[string(message.Value)] = true
		if len(r.seen) == r.count {
			r.stop()
		}
		r.mutex.Unlock()
	}
	return nil
}

func main() {
	servers, topic := os.Args[1], os.Args[2]
	count, _ := strconv.Atoi(os.Args[3])
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	producer, err := sarama.NewSyncProducer([]string{servers}, config)
	if err != nil {
		panic(err)
	}
	for number := range count {
		message := sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(fmt.Sprint(number))}
		if _, _, err := producer.SendMessage(&message); err != nil {
			panic(err)
		}
	}
	group, err := sarama.NewConsumerGroup([]string{servers}, "sarama", config)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 60*time.Second)
	handler := reader{seen: map[string]bool{}, count: count, stop: stop}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{topic}, &handler); err != nil {
			panic(err)
		}
	}
	if err := group.Close(); err != nil {
		panic(err)
	}
	fmt.Println("read", len(handler.seen))
}
