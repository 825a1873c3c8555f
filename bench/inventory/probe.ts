import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** Interval between probes. Shorter intervals would take CPU time from the service, which shares the two cores. */
const EVERY_MS = 20;
const agent = new Agent({ keepAlive: true });

/**
 * Polls the liveness probe and records the duration of each response in milliseconds, which shows how long the service's event loop was
 * blocked. Runs in a separate thread, so that work of the benchmark itself is not counted.
 */
export class Probe {
  private constructor(private readonly worker: Worker) {}

  static async start(url: string): Promise<Probe> {
    const worker = new Worker(new URL(import.meta.url), { workerData: url });
    await new Promise((resolve) => worker.once('message', resolve));
    return new Probe(worker);
  }

  async stop(): Promise<number[]> {
    const told = new Promise<number[]>((resolve) => this.worker.once('message', resolve));
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.worker.postMessage('stop');
    return told;
  }
}

async function ask(url: string): Promise<number> {
  const started = performance.now();
  const [answer] = (await once(get(`${url}/actuator/health/liveness`, { agent }), 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return performance.now() - started;
}

function tell(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}

async function run(url: string): Promise<void> {
  const work = { over: false };
  parentPort?.once('message', () => (work.over = true));
  await ask(url);
  tell('ready');
  const found: number[] = [];
  while (!work.over) {
    found.push(await ask(url));
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  agent.destroy();
  tell(found);
}

if (parentPort !== null) await run(workerData as string);
