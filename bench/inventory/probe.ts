import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** What asks takes from the same two cores. */
const EVERY_MS = 20;
const agent = new Agent({ keepAlive: true });

/**
 * Asks the liveness probe all the while and tells how long each answer took, in milliseconds: what the event loop of the service is
 * held up. In a thread of its own, so that what the bench itself does is not counted.
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
