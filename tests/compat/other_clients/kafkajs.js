// A kafkajs consumer group: produce, join, read everything, commit, leave.
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const [servers, topic, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
  const kafka = new Kafka({ clientId: "kafkajs", brokers: [servers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  for (let number = 0; number < count; number++) {
    await producer.send({ topic, messages: [{ value: String(number) }] });
  }
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: "kafkajs" });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const seen = new Set();
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`only ${seen.size} were read`)), 60000).unref();
    consumer.run({
      eachMessage: async ({ message }) => {
        seen.add(message.value.toString());
        if (seen.size === count) resolve();
      },
    });
  });
  await consumer.disconnect();
  console.log("read", seen.size);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
