import { parseArgs } from 'node:util';
import { type FuzzResult, sendMutated } from '../test/client/agent/mutated-frames.js';
import { heldMemory, megabytes } from './support/memory.js';
import { agentKey, type SoftwareToken, softwareToken } from '../test/client/agent/software-token.js';

/**
 * `npm run proof -- agent [--frames 1000000] [--seed 1]`: sends mutated messages to the PKCS #11 server of the agent. The server must answer or close each
 * connection, must not leak memory, and must request signatures only over digests that a message contained. `agent-waiting` covers waiting for approval.
 */
const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);
/** Number of rounds. Memory is measured after each round. */
const ROUNDS = 20;
/** Concurrent conversations. Each conversation has a separate server, so that every signature request can be compared with the conversation's messages. */
const LANES = 16;
const MAX_GROWTH_BYTES = 16 << 20;

const keys = [agentKey('rsa', 'rsa-2048'), agentKey('ec', 'ec-p256')];
const lanes = await Promise.all(Array.from({ length: LANES }, () => softwareToken(keys)));
const faults = await mutations(lanes, Number(values.frames), Number(values.seed));
await Promise.all(lanes.map((lane) => lane.close()));
for (const fault of faults) say(`FAULT: ${fault}`);
say(faults.length === 0 ? 'Proven.' : 'Not proven.');
process.exitCode = faults.length === 0 ? 0 : 1;

async function mutations(tokens: readonly SoftwareToken[], frames: number, seed: number): Promise<string[]> {
  const memory: number[] = [];
  const all: FuzzResult[] = [];
  const sum = (count: (result: FuzzResult) => number) => all.reduce((total, result) => total + count(result), 0);
  const started = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) {
    const share = frames / ROUNDS / tokens.length;
    const seedOf = (lane: number) => (seed * ROUNDS + round) * LANES + lane + 1;
    all.push(...(await Promise.all(tokens.map((token, lane) => sendMutated(token, share, seedOf(lane))))));
    memory.push(heldMemory());
    const seconds = Math.round((performance.now() - started) / 1000);
    say(`${sum((one) => one.frames)} messages, ${sum((one) => one.orders)} signatures, ${megabytes(memory.at(-1) ?? 0)} MB held, ${megabytes(process.memoryUsage.rss())} MB in all, ${seconds} s`); // prettier-ignore
  }
  const unasked = sum((one) => one.unasked.length);
  // The first rounds are a warm-up in which code is compiled.
  const growth = Math.min(...memory.slice(-ROUNDS / 4)) - Math.max(...memory.slice(ROUNDS / 10, ROUNDS / 4));
  return [
    ...(unasked === 0 ? [] : [`${unasked} signatures were not asked for`]),
    ...(sum((one) => one.orders) > 0 ? [] : ['nothing was signed: the messages did not get past the door']),
    ...(growth < MAX_GROWTH_BYTES ? [] : [`memory grew by ${megabytes(growth)} MB`]),
  ];
}
