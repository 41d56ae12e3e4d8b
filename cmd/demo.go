package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/demo"
	"sluice/progress"
)

const (
	flagDir  = "dir"
	flagHold = "hold"
)

// What arrives before each run of the demo, and how large a batch may be: three batches, then two of which the second
// is cut short, then that one again and the rest.
const (
	demoBatch  = 2_000
	demoFirst  = 6_000
	demoSecond = 5_000
	demoThird  = 1_500
	// demoCut is the number of the batch that is cut short.
	demoCut = demoFirst/demoBatch + 1
	// demoWrong is how many orders have a mistake.
	demoWrong = (demoFirst+demoSecond-demo.CarelessFirst-1)/demo.CarelessEvery + 1
	// demoCure is the line of the job that reads them all the same.
	demoCure = "  json: {numbersInText: true}\n"
)

func (p *process) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole story in seconds, with nothing else installed",
		Description: "Starts a Kafka broker inside of this process, lets orders arrive in it, and runs this program three times as cron would: once undisturbed,\n" +
			"once until it is killed in the middle of a batch, and once more to go on from there. Some orders are malformed and become dead letters, which are\n" +
			"read again later; at last orders have a field more, which becomes a column. Then it proves that each order is in the table once.\n" +
			"Everything is in one folder, which is left to look at. The broker listens on the loopback interface alone.\n\n" +
			"The exit code is not 0 if the proof fails.",
		Flags: slices.Concat(outputFlags(), []cli.Flag{
			&cli.StringFlag{Name: flagDir, Usage: "put everything into `FOLDER`, which must be new or empty; without it a temporary one is made"},
			&cli.BoolFlag{Name: flagHold, Usage: "keep the broker running at the end, until Ctrl-C, to try commands on it"},
		}),
		Action: p.demo,
	}
}

func (p *process) demo(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	s, err := p.newStory(c.String(flagDir))
	if err != nil {
		return err
	}
	defer s.broker.Close()
	s.hold = c.Bool(flagHold)
	if err := s.tell(c.Context); err != nil {
		return cause(c.Context, err)
	}
	if s.hold {
		<-c.Context.Done() // the way it is meant to end
	}
	return nil
}

// story is the demo while it goes on.
type story struct {
	stage
	// dir is the folder that everything is in, job the path of the job file.
	dir, job string
	broker   *demo.Broker
	// hold says that the broker goes on after the last step.
	hold bool
}

func (p *process) newStory(dir string) (*story, error) {
	stage, err := p.newStage()
	if err != nil {
		return nil, err
	}
	if dir, err = demoFolder(dir); err != nil {
		return nil, err
	}
	s := &story{stage: *stage, dir: dir, job: filepath.Join(dir, "orders.yaml")}
	if s.broker, err = demo.Start(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.job, []byte(s.jobFile("")), 0o644); err != nil {
		s.broker.Close()
		return nil, err
	}
	return s, nil
}

// demoFolder makes the folder to work in. One that holds something is refused: it may be an earlier demo, whose table
// knows nothing of the new broker, or anything else.
func demoFolder(dir string) (string, error) {
	made, err := makeFolder(dir)
	if err != nil {
		return "", &batch.Fault{Class: batch.NotSetUp, Message: "there is no folder for the demo", Err: err, Hint: "name one that can be written to with --" + flagDir}
	}
	entries, err := os.ReadDir(made)
	if err == nil && len(entries) > 0 {
		err = &usage{fmt.Errorf("--%s %s is not empty", flagDir, made), "name a new folder, or remove this one first"}
	}
	return made, err
}

func makeFolder(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "sluice-demo-")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// jobFile is the job; cure is a line more in its value section, or nothing.
func (s *story) jobFile(cure string) string {
	return fmt.Sprintf(`name: orders
source:
  kafka: {bootstrap.servers: "%s"}
  subscribe: [%s]
  maxOffsetsPerTrigger: %d    # no batch is larger
value:
  format: json
  schema: |
    order_id STRING NOT NULL, customer_id STRING, amount DECIMAL(18,2) NOT NULL, currency STRING,
    event_time TIMESTAMP, address STRUCT<city: STRING, zip: STRING>, items ARRAY<STRUCT<sku: STRING, qty: INT>>
  onMalformed: deadLetter       # what is no row of the schema goes to a table of its own
  onUnknownField: addColumn     # a field that the schema lacks becomes a column
%sdeadLetter: {table: sales.orders_dead_letter}
sink:
  iceberg:
    catalog: {warehouse: lake}  # a folder beside this file
    table: sales.orders         # created by the first run
run:
  lease: 2s                     # after a crash the next run waits so long; 15s by default
`, s.broker.Addr(), demo.Topic, demoBatch, cure)
}

// entry is the file of the batch that is cut short in a folder of the checkpoint.
func (s *story) entry(folder string) string {
	return filepath.Join(s.dir, "lake", "_checkpoints", "orders", folder, strconv.Itoa(demoCut))
}

// tell goes through the steps.
func (s *story) tell(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.setUp, s.firstRun, s.secondRun, s.explain, s.thirdRun, s.look, s.letters, s.cure, s.prove, s.next} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) setUp(ctx context.Context) error {
	if err := s.broker.Arrive(ctx, demoFirst, demo.Careless); err != nil {
		return err
	}
	detail := []string{
		fmt.Sprintf("A Kafka broker inside of this process listens on %s. Its topic %s has %d partitions,", s.broker.Addr(), demo.Topic, demo.Partitions),
		fmt.Sprintf("and %s orders have arrived, such as", thousands(demoFirst)), "",
		"  " + string(demo.OrderOf(0).Value), "",
		"This is the whole job, " + s.job + ":", ""}
	for line := range strings.Lines(s.jobFile("")) {
		detail = append(detail, "  "+strings.TrimSuffix(line, "\n"))
	}
	return s.show(&progress.Demo{Title: "A topic with orders, and a job", Detail: detail})
}

func (s *story) firstRun(ctx context.Context) error {
	return s.do(ctx, scene{title: "Cron starts the first run",
		detail: []string{"It reads what is there now, in batches of at most " + thousands(demoBatch) + ", and exits."},
		args:   []string{"run", "--job", s.job}})
}

// secondRun is cut short by an event that can only happen in the middle of the batch: its plan is in the checkpoint,
// and the run asks for its records.
func (s *story) secondRun(ctx context.Context) error {
	if err := s.broker.Arrive(ctx, demoSecond, demo.Careless); err != nil {
		return err
	}
	inTheMiddle := func() bool {
		_, err := os.Stat(s.entry("offsets"))
		return err == nil
	}
	return s.cutShort(ctx, scene{title: "The second run, and kill -9 in the middle of a batch",
		detail: []string{fmt.Sprintf("%s more orders have arrived. This run is killed while it reads batch %d.", thousands(demoSecond), demoCut)},
		args:   []string{"run", "--job", s.job}}, s.broker.OnFetch, inTheMiddle)
}

// explain says what the kill has left behind, after a look at whether that is so.
func (s *story) explain(context.Context) error {
	if _, err := os.Stat(s.entry("offsets")); err != nil {
		return fmt.Errorf("look for the plan of the batch that was cut short: %w", err)
	}
	if _, err := os.Stat(s.entry("commits")); err == nil {
		return fmt.Errorf("the kill came too late: batch %d is done", demoCut)
	}
	return s.show(&progress.Demo{Title: "What the kill has left behind", Detail: []string{
		fmt.Sprintf("The plan of batch %d, the exact offsets that it reads: it was written down before anything was read.", demoCut),
		"  " + s.entry("offsets"),
		fmt.Sprintf("In the table there is nothing of batch %d: all of its rows appear at once, when it is committed, or never.", demoCut)}})
}

func (s *story) thirdRun(ctx context.Context) error {
	if err := s.broker.Arrive(ctx, demoThird, demo.WithChannel); err != nil {
		return err
	}
	return s.do(ctx, scene{title: "Cron starts the third run",
		detail: []string{
			fmt.Sprintf("%s more orders have arrived. This run waits 2 s, until the dead run's lease has run out. Then it replays", thousands(demoThird)),
			fmt.Sprintf("batch %d as it was planned: the same offsets, and none of the new ones. Those come in the batches after it, and", demoCut),
			"have a field that the schema lacks, channel: the table gets the column before it gets the rows."},
		args: []string{"run", "--job", s.job}})
}

func (s *story) look(ctx context.Context) error {
	return s.do(ctx, scene{title: "What is in the table",
		detail: []string{"A record is a row, and beside its columns stands where it came from."},
		args:   []string{"peek", "--job", s.job, "--limit", "4", "--columns", "order_id,amount,event_time,channel,kafka_partition,kafka_offset"}})
}

func (s *story) letters(ctx context.Context) error {
	return s.do(ctx, scene{title: fmt.Sprintf("%d orders are no rows", demoWrong),
		detail: []string{"Their producer wrote the amount as text. They held nothing up, and nothing of them is lost: each is a dead letter, with the reason."},
		args:   []string{"deadletter", "ls", "--job", s.job}})
}

// cure makes the job read what is text, and has the dead letters read again.
func (s *story) cure(ctx context.Context) error {
	if err := os.WriteFile(s.job, []byte(s.jobFile(demoCure)), 0o644); err != nil {
		return err
	}
	return s.do(ctx, scene{title: "The job takes them after all",
		detail: []string{"The job has a line more now, under value:", "", demoCure[:len(demoCure)-1], "", "With it the dead letters can be read again. Each becomes a row once, however often this is done."},
		args:   []string{"deadletter", "replay", "--job", s.job}})
}

func (s *story) prove(ctx context.Context) error {
	return s.do(ctx, scene{title: "Is every order there, and none twice?",
		detail: []string{"verify reads table, checkpoint and topic with code of its own, and compares by topic, partition and offset."},
		args:   []string{"verify", "--source", "--job", s.job}})
}

func (s *story) next(context.Context) error {
	broker := "The broker ends with this process: run has nothing to read from then, status and peek go on to work. --hold keeps it."
	if s.hold {
		broker = "The broker runs until Ctrl-C. In another terminal try: " + s.name + " status --job " + s.job
	}
	title := fmt.Sprintf("Done in %.1f s: %s orders, a run that was killed, a mistake, a new field, and each order is in the table once", time.Since(s.began).Seconds(), thousands(s.broker.Arrived()))
	return s.show(&progress.Demo{Title: title, Detail: []string{broker},
		Next: []string{
			"Look around: " + s.dir + " (lake/sales.db has the tables, lake/_checkpoints is what sluice remembers)",
			"Look at a topic of yours: " + s.name + " peek --bootstrap-servers broker:9092 --subscribe my-topic",
			"Drain it into a table: " + s.name + " run --bootstrap-servers broker:9092 --subscribe my-topic --warehouse /data/lake --table sales.my_topic",
			"Do that on a schedule: examples/cron",
			"Remove all of this: rm -r " + s.dir,
		}})
}
