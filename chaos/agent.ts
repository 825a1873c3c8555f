import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { vote } from '../test/approvals/approvers.js';
import { login } from '../test/auth/people.js';
import { guard } from '../test/client/agent/approving.js';
import { sendMutated } from '../test/client/agent/mutated-frames.js';
import { agentKey, softwareToken } from '../test/client/agent/software-token.js';
import { ToolBench } from '../test/client/agent/tool-bench.js';
import { ask } from '../test/support/authority.js';
import { certifiedKey } from '../test/support/certified-keys.js';
import { openCertifiedStage } from '../test/support/certified-stage.js';
import { until } from '../test/support/signing.js';

/**
 * npm run proof -- agent [--frames 1000000] [--seed 1] [--wait 600]
 * Sends mutated messages to the PKCS #11 server of the agent: no crash, no growth, no signature that was not asked for. Then lets
 * jarsigner wait so many seconds for a person, and verifies the jar. Either part is left out with 0.
 */
const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    wait: { type: 'string', default: '600' },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);
/** In each of which memory is looked at. */
const ROUNDS = 10;
const MAX_GROWTH_BYTES = 32 << 20;

const faults = [
  ...(await mutations(Number(values.frames), Number(values.seed))),
  ...(await waiting(Number(values.wait))),
];
for (const fault of faults) say(`FAULT: ${fault}`);
say(faults.length === 0 ? 'Proven.' : 'Not proven.');
process.exitCode = faults.length === 0 ? 0 : 1;

async function mutations(frames: number, seed: number): Promise<string[]> {
  if (frames === 0) return [];
  const token = await softwareToken([agentKey('rsa', 'rsa-2048'), agentKey('ec', 'ec-p256')]);
  const memory: number[] = [];
  let sent = 0;
  let orders = 0;
  let unasked = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const result = await sendMutated(token, frames / ROUNDS, seed + round);
    sent += result.frames;
    orders += result.orders;
    unasked += result.unasked.length;
    memory.push(process.memoryUsage.rss());
    say(`${sent} messages, ${orders} signatures, ${Math.round((memory.at(-1) ?? 0) / (1 << 20))} MB`);
  }
  await token.close();
  // The first round warms up: code is compiled, and heaps find their size.
  const growth = Math.min(...memory.slice(-2)) - Math.max(...memory.slice(1, 3));
  return [
    ...(unasked === 0 ? [] : [`${unasked} signatures were not asked for`]),
    ...(orders > 0 ? [] : ['nothing was signed: the messages did not get past the door']),
    ...(growth < MAX_GROWTH_BYTES ? [] : [`memory grew by ${Math.round(growth / (1 << 20))} MB`]),
  ];
}

async function waiting(seconds: number): Promise<string[]> {
  if (seconds === 0) return [];
  const { service, apiKey, authority, stage, close } = await openCertifiedStage([]);
  const bench = new ToolBench({ url: service.url, token: apiKey });
  const place = { service, apiKey, stage };
  try {
    await certifiedKey(service, apiKey, authority, { name: 'release', type: 'rsa-3072', purpose: 'code-signing' });
    const approver = await guard(place, ['release']);
    bench.makeFiles();
    const tool = bench.start(
      `sealwright exec --key release -- jarsigner -keystore NONE -storetype PKCS11 -storepass any -addprovider SunPKCS11 -providerArg '{java}' app.jar release`,
    );
    await until('jarsigner waits', 60, () => Promise.resolve(tool.text().includes('waiting for')));
    const began = performance.now();
    await sleep(seconds * 1000);
    // Votes are cast by people who have just signed in.
    const { body: session } = await login(service, approver.email, approver.password);
    const { access_token: accessToken } = session as { access_token: string };
    const { body } = await service.call('GET', '/api/v1/approvals?waiting=me', { key: accessToken });
    const { status } = await vote(service, body.items[0].id as string, { accessToken });
    if (status !== 200) return [`the vote was answered ${status}`];
    const { code } = await tool.ended;
    const waited = Math.round((performance.now() - began) / 1000);
    const { text } = ask('jarsigner', ['-verify', bench.at('app.jar')]);
    say(
      `jarsigner waited ${waited} s and ended with ${code}; ${readFileSync(bench.at('app.jar')).length} bytes: ${text.trim().split('\n')[0]}`,
    );
    return code === 0 && text.includes('jar verified') ? [] : [`jarsigner: ${tool.text()}`];
  } finally {
    bench.remove();
    await close();
  }
}
