import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { vote } from '../test/approvals/approvers.js';
import { login } from '../test/auth/people.js';
import { requireApprover } from '../test/client/agent/approving.js';
import { type RunningTool, ToolBench } from '../test/client/agent/tool-bench.js';
import { ask } from '../test/support/authority.js';
import { certifiedKey } from '../test/support/certified-keys.js';
import { openCertifiedStage } from '../test/support/certified-stage.js';
import { createKey, until } from '../test/support/signing.js';

/**
 * `npm run proof -- agent-waiting [--wait 600]`: jarsigner and gpg each wait this many seconds for the approval of one signature. After the approval, the
 * tools' own verifiers must accept the result.
 */
const { values } = parseArgs({ options: { wait: { type: 'string', default: '600' } } });
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface WaitingTool {
  readonly name: string;
  readonly tool: RunningTool;
  /** Runs the tool's own verifier. `text` is the verifier's output. */
  verify(): { readonly ok: boolean; readonly text: string };
}

const certified = await openCertifiedStage([]);
const { service, apiKey, authority, stage } = certified;
const bench = new ToolBench({ url: service.url, token: apiKey });
const gnupg = { GNUPGHOME: bench.at('gnupg') };
try {
  process.exitCode = (await waited(Number(values.wait))) ? 0 : 1;
} finally {
  ask('gpgconf', ['--kill', 'all'], { env: { ...process.env, ...gnupg } });
  bench.remove();
  await certified.close();
}

async function waited(seconds: number): Promise<boolean> {
  await certifiedKey(service, apiKey, authority, { name: 'release', type: 'rsa-3072', purpose: 'code-signing' });
  await openPgpKey('packages');
  const approver = await requireApprover({ service, apiKey, stage }, ['release', 'packages']);
  bench.makeFiles();
  const tools = [jarsigner(), gpg()];
  for (const { name, tool } of tools)
    await until(`${name} waits`, 60, () => Promise.resolve(tool.text().includes('waiting for')));
  const began = performance.now();
  await sleep(seconds * 1000);
  // Votes require a recent sign-in.
  const { body: session } = await login(service, approver.email, approver.password);
  const { access_token: accessToken } = session as { access_token: string };
  const { body } = await service.call('GET', '/api/v1/approvals?waiting=me', { key: accessToken });
  for (const { id } of body.items as { id: string }[]) {
    const { status } = await vote(service, id, { accessToken });
    say(`voted: HTTP ${status}`);
  }
  const ends = await Promise.all(tools.map((waiting) => proven(waiting, began)));
  return ends.every(Boolean);
}

async function proven({ name, tool, verify }: WaitingTool, began: number): Promise<boolean> {
  const { code, text } = await tool.ended;
  const waitedFor = Math.round((performance.now() - began) / 1000);
  const verified = verify();
  const isProven = code === 0 && verified.ok;
  const said = verified.text.split('\n').find((line) => /jar verified|Good signature/.test(line));
  say(`${name} waited ${waitedFor} s and ended with ${code}: ${said ?? 'not verified'}`);
  say(isProven ? `${name}: proven.` : `FAULT: ${name}: ${text}\n${verified.text}`);
  return isProven;
}

/** Creates a key with an OpenPGP certificate, and the wrapper scripts through which tools call this product's gpg. */
async function openPgpKey(name: string): Promise<void> {
  const { id } = await createKey(service, apiKey, { name, type: 'rsa-3072', purpose: 'openpgp' });
  const body = { userIds: [`Packages <${name}@example.org>`] };
  const answer = await service.call('POST', `/api/v1/signing-keys/${id}/openpgp`, { key: apiKey, body });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  bench.keep('packages.asc', answer.body.certificate as string);
  const set = 'mkdir -m 700 gnupg && sealwright wrappers wrappers && /usr/bin/gpg --batch --import packages.asc';
  const { code, text } = await bench.run(set, gnupg);
  if (code !== 0) throw new Error(text);
}

function jarsigner(): WaitingTool {
  const tool = bench.start(
    `sealwright exec --key release -- jarsigner -keystore NONE -storetype PKCS11 -storepass any -addprovider SunPKCS11 -providerArg '{java}' app.jar release`,
  );
  const verify = () => {
    const { ok, text } = ask('jarsigner', ['-verify', bench.at('app.jar')]);
    return { ok: ok && text.includes('jar verified'), text };
  };
  return { name: 'jarsigner', tool, verify };
}

function gpg(): WaitingTool {
  const tool = bench.start('wrappers/gpg -u packages --armor --detach-sign app.bin', gnupg);
  const verify = () => {
    const env = { ...process.env, ...gnupg };
    const { ok, text } = ask('/usr/bin/gpg', ['--verify', bench.at('app.bin.asc'), bench.at('app.bin')], { env });
    return { ok: ok && text.includes('Good signature'), text };
  };
  return { name: 'gpg', tool, verify };
}
