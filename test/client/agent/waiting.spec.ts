import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Approver } from '../../approvals/approvers.js';
import { vote } from '../../approvals/approvers.js';
import { certifiedKey } from '../../support/certified-keys.js';
import { type CertifiedStage, openCertifiedStage } from '../../support/certified-stage.js';
import { ask } from '../../support/authority.js';
import { digestOf, publishedKey, until } from '../../support/signing.js';
import { requireApprover } from './approving.js';
import { hasTools, type RunningTool, ToolBench } from './tool-bench.js';

/** Time until the approval; `npm run proof -- agent-waiting` uses a longer time. */
const WAIT_MS = 6000;
const KEY = 'waited-for';

let certified: CertifiedStage;
let bench: ToolBench;
let approver: Approver;

describe.runIf(hasTools)('a tool that waits for approval', () => {
  beforeAll(async () => {
    certified = await openCertifiedStage([], { shim: true });
    const { service, apiKey, authority, stage } = certified;
    bench = new ToolBench({ url: service.url, token: apiKey });
    await certifiedKey(service, apiKey, authority, { name: KEY, type: 'rsa-2048', purpose: 'code-signing' });
    approver = await requireApprover({ service, apiKey, stage }, [KEY]);
    bench.keep('key.pub', (await publishedKey(service, apiKey, KEY)).publicKey);
  });
  afterAll(async () => {
    bench.remove();
    await certified.close();
  });

  const DGST = `openssl dgst -engine pkcs11 -keyform engine -sha256 -sign 'pkcs11:object=${KEY};type=private' -out app.sig app.bin`;
  const exec = (command: string) => `exec sealwright exec --key ${KEY} -- ${command}`;

  interface Waiting {
    readonly tool: RunningTool;
    readonly approvalId: string;
    readonly digest: string;
  }

  /** Creates a new file and starts openssl, which waits until the signature is approved. */
  async function waiting(): Promise<Waiting> {
    const content = randomBytes(24).toString('hex');
    bench.keep('app.bin', content);
    return again(digestOf(content));
  }

  async function again(digest: string, command = DGST): Promise<Waiting> {
    const tool = bench.start(exec(command));
    await until('the person at the terminal is told', 30, () => Promise.resolve(tool.text().includes('waiting for')));
    return { tool, digest, approvalId: (await pending()).id };
  }

  async function pending(): Promise<{ id: string; shown: Record<string, unknown> }> {
    return until('an approval', 30, async () => {
      const { body } = await certified.service.call('GET', '/api/v1/approvals?waiting=me', {
        key: approver.accessToken,
      });
      return body.items[0];
    });
  }

  async function statusOf(approvalId: string): Promise<string> {
    const { body } = await certified.service.call('GET', `/api/v1/approvals/${approvalId}`, { key: certified.apiKey });
    return body.status as string;
  }

  const decide = (approvalId: string, decision: 'approve' | 'reject') =>
    vote(certified.service, approvalId, approver, { decision });

  async function verified(): Promise<boolean> {
    const check = [
      'dgst',
      '-sha256',
      '-verify',
      bench.at('key.pub'),
      '-signature',
      bench.at('app.sig'),
      bench.at('app.bin'),
    ];
    return ask('openssl', check).ok;
  }

  it('reports what is requested and from whom, and succeeds after approval', async () => {
    const { tool, digest, approvalId } = await waiting();
    const hex = Buffer.from(digest, 'base64').toString('hex').slice(0, 16);
    expect(tool.text()).toContain(`openssl requests a signature over sha256 ${hex}… with key ${KEY}`);
    expect(tool.text()).toMatch(/waiting for 1 of group-[0-9a-f]+, until 20/);
    await decide(approvalId, 'approve');
    expect(await tool.ended).toMatchObject({ code: 0 });
    expect(await verified()).toBe(true);
  });

  it('signs afterwards if it is jarsigner', async () => {
    bench.makeFiles();
    const { tool, approvalId } = await again(
      '',
      `jarsigner -keystore NONE -storetype PKCS11 -storepass secret -addprovider SunPKCS11 -providerArg '{java}' app.jar ${KEY}`,
    );
    const { shown } = await pending();
    expect(shown['metadata']).toMatchObject({
      saidByClient: { program: 'jarsigner', commandLine: expect.stringContaining('-storepass ***') },
    });
    expect(JSON.stringify(shown)).not.toContain('secret');
    await sleep(WAIT_MS);
    await decide(approvalId, 'approve');
    expect(await tool.ended).toMatchObject({ code: 0 });
    const check = ask('jarsigner', ['-verify', bench.at('app.jar')]);
    expect(check.text).toContain('jar verified');
  });

  it('fails after a rejection, and nothing is signed', async () => {
    const { tool, digest, approvalId } = await waiting();
    await decide(approvalId, 'reject');
    const { code, text } = await tool.ended;
    expect(code).toBe(1);
    expect(text).toContain('not signed (rejected)');
    expect(certified.stage.operationsOn(digest)).toBe(0);
    expect(statSync(bench.at('app.sig')).size).toBe(0);
  });

  it('fails if too few people vote in time, and nothing is signed', async () => {
    const { tool, digest, approvalId } = await waiting();
    await certified.stage.sql(`UPDATE approval SET expires_at = now() - interval '1 second' WHERE id = $1`, [
      approvalId,
    ]);
    const { code, text } = await tool.ended;
    expect(code).toBe(1);
    expect(text).toContain('not signed (expired)');
    expect(certified.stage.operationsOn(digest)).toBe(0);
  });

  it('fails if the request was withdrawn elsewhere', async () => {
    const { tool, digest, approvalId } = await waiting();
    await certified.service.call('POST', `/api/v1/approvals/${approvalId}/withdraw`, {
      key: certified.apiKey,
      body: {},
    });
    const { code, text } = await tool.ended;
    expect(code).toBe(1);
    expect(text).toContain('not signed (withdrawn)');
    expect(certified.stage.operationsOn(digest)).toBe(0);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'withdraws the request on %s, and a later approval signs nothing',
    async (signal) => {
      const { tool, digest, approvalId } = await waiting();
      tool.kill(signal);
      const { signal: endedBy, text } = await tool.ended;
      expect(endedBy).toBe(signal);
      expect(text).toContain('was withdrawn');
      expect(await statusOf(approvalId)).toBe('WITHDRAWN');
      expect((await decide(approvalId, 'approve')).status).toBe(409);
      expect(certified.stage.operationsOn(digest)).toBe(0);
    },
  );

  it('withdraws the request if only the tool is killed', async () => {
    const { tool, approvalId } = await waiting();
    const child = readdirSync('/proc').find((pid) => isOpenssl(pid));
    process.kill(Number(child), 'SIGKILL');
    expect((await tool.ended).signal).toBe('SIGKILL');
    expect(await statusOf(approvalId)).toBe('WITHDRAWN');
  });

  function isOpenssl(pid: string): boolean {
    if (!/^\d+$/.test(pid) || !existsSync(`/proc/${pid}/cmdline`)) return false;
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return (
        line[0] === 'openssl' &&
        line.includes('dgst') &&
        readFileSync(`/proc/${pid}/environ`, 'utf8').includes(bench.directory)
      );
    } catch {
      return false;
    }
  }

  it('resumes the request after everything was killed at once, and asks nobody again', async () => {
    const { tool, digest, approvalId } = await waiting();
    tool.kill('SIGKILL');
    await tool.ended;
    expect(await statusOf(approvalId)).toBe('PENDING');
    await decide(approvalId, 'approve');
    const run = await bench.run(exec(DGST));
    expect(run).toMatchObject({ code: 0 });
    expect(await verified()).toBe(true);
    const rows = await certified.stage.sql(`SELECT id FROM signing_request WHERE digest = $1`, [
      Buffer.from(digest, 'base64'),
    ]);
    expect(rows).toHaveLength(1);
  });

  it('asks again when it is restarted after a rejection', async () => {
    const first = await waiting();
    await decide(first.approvalId, 'reject');
    await first.tool.ended;
    const second = await again(first.digest);
    expect(second.approvalId).not.toBe(first.approvalId);
    await decide(second.approvalId, 'approve');
    expect(await second.tool.ended).toMatchObject({ code: 0 });
  });

  it('has a socket for this user only, which is removed when the tool ends', async () => {
    const run = await bench.run(
      exec(
        `sh -c 'p=\${P11_KIT_SERVER_ADDRESS#unix:path=}; echo "at=$p"; stat -c %a "$p" "$(dirname "$p")"; env | grep -c SEALWRIGHT_TOKEN'`,
      ),
    );
    const place = /^at=(.*)$/m.exec(run.text)?.[1] ?? '/';
    expect(run.text).toContain('600\n700\n0');
    expect(existsSync(dirname(place))).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('has a socket that another user cannot connect to', async () => {
    const connect = `const s = require('net').connect(process.argv[1]); s.on('error', (e) => { console.log(e.code); }); s.on('connect', () => { console.log('connected'); s.end(); })`;
    const run = await bench.run(
      exec(
        `sh -c 'p=\${P11_KIT_SERVER_ADDRESS#unix:path=}; node -e "$CODE" "$p"; setpriv --reuid=65534 --regid=65534 --clear-groups env -u OPENSSL_CONF node -e "$CODE" "$p"'`,
      ),
      { CODE: connect, PATH: `${dirname(process.execPath)}:${bench.path}` },
    );
    expect(run.text).toContain('connected\nEACCES');
  });

  it.each([
    ['exit 7', 7, null],
    ['kill -TERM $$', -1, 'SIGTERM'],
  ])('ends like the tool: %s', async (script, code, signal) => {
    const run = await bench.run(exec(`sh -c '${script}'`));
    expect({ code: run.code, signal: run.signal }).toEqual({ code, signal });
  });

  it('reports that the tool does not exist', async () => {
    expect(await bench.run(exec('no-such-tool'))).toMatchObject({
      code: 127,
      text: expect.stringContaining('command not found'),
    });
  });
});
