import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendMutated } from './mutated-frames.js';
import { arrayOf, mechanism, Pkcs11Program, ulongAttribute } from './pkcs11-program.js';
import { agentKey, softwareToken, type SoftwareToken } from './software-token.js';

/** Number of frames; `npm run proof -- agent --frames 1000000` sends more. */
const FRAMES = 20_000;
const MAX_GROWTH_BYTES = 64 << 20;

let token: SoftwareToken;

beforeAll(async () => {
  token = await softwareToken([agentKey('rsa', 'rsa-2048'), agentKey('ec', 'ec-p256')]);
});
afterAll(() => token.close());

it('mutated messages crash no process, exhaust no memory, and cause no unrequested signature', async () => {
  const before = process.memoryUsage.rss();
  const result = await sendMutated(token, FRAMES, 20_261_126);
  expect(result.unasked).toEqual([]);
  // If no signature was requested, all messages were rejected early and the test proves nothing.
  expect(result.orders).toBeGreaterThan(FRAMES / 100);
  expect(process.memoryUsage.rss() - before).toBeLessThan(MAX_GROWTH_BYTES);
});

it('the next program is served as before', async () => {
  const { program, session } = await Pkcs11Program.ready(token.path);
  const [, ec = 0] = await program.find(session, ulongAttribute(0, 3));
  const answer = await program.sign(session, ec, mechanism(0, 0x1041), Buffer.alloc(32, 7));
  expect(arrayOf(answer)).toHaveLength(64);
});
