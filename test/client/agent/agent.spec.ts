import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../support/service.js';
import { createKey, until } from '../../support/signing.js';
import { openStage, type Stage } from '../../support/stage.js';
import { arrayOf, mechanism, Pkcs11Program, ulongAttribute } from './pkcs11-program.js';
import { hasTools, type RunningTool, ToolBench } from './tool-bench.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let bench: ToolBench;
const started: RunningTool[] = [];

describe.runIf(hasTools)('sealwright agent', () => {
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start();
    bench = new ToolBench({ url: service.url, token: apiKey });
    await createKey(service, apiKey, { name: 'release', type: 'ec-p256', purpose: 'code-signing' });
    await createKey(service, apiKey, { name: 'login', type: 'ec-p256', purpose: 'ssh-login' });
  });
  afterAll(async () => {
    for (const tool of started.filter(({ isRunning }) => isRunning())) tool.kill('SIGKILL');
    bench.remove();
    await stage.close();
  });

  async function startAgent(socket: string, options = ''): Promise<RunningTool> {
    const tool = bench.start(`exec sealwright agent --socket ${socket} ${options}`);
    started.push(tool);
    await until('the agent listens', 20, () => Promise.resolve(tool.text().includes('P11_KIT_SERVER_ADDRESS=')));
    return tool;
  }

  const address = (path: string) => ({ P11_KIT_SERVER_ADDRESS: `unix:path=${path}` });

  it('serves one program after another, and leaves no socket behind', async () => {
    const path = bench.at('run/one/pkcs11');
    const tool = await startAgent(path, '--key release');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(bench.at('run/one')).mode & 0o777).toBe(0o700);
    for (let turn = 0; turn < 2; turn += 1) {
      const { program, session } = await Pkcs11Program.ready(path);
      const [key = 0] = await program.find(session, ulongAttribute(0, 3));
      const answer = await program.sign(session, key, mechanism(0, 0x1041), Buffer.alloc(32, turn));
      expect(arrayOf(answer)).toHaveLength(64);
      program.socket.destroy();
    }
    tool.kill('SIGTERM');
    expect(await tool.ended).toMatchObject({ code: 0 });
    expect(existsSync(path)).toBe(false);
  });

  it('offers all keys for its purpose if none is named, and no others', async () => {
    const path = bench.at('run/all/pkcs11');
    await startAgent(path, '--purpose ssh-login');
    const module = `$(find /usr/lib -name p11-kit-client.so | head -n 1)`;
    const run = await bench.run(`pkcs11-tool --module ${module} -O --type privkey`, address(path));
    expect(run.text).toMatch(/label: +login/);
    expect(run.text).not.toContain('release');
  });

  it('offers a key created while it runs to the next program', async () => {
    const path = bench.at('run/new/pkcs11');
    await startAgent(path);
    const count = async () => {
      const { program, session } = await Pkcs11Program.ready(path);
      return (await program.find(session, ulongAttribute(0, 3))).length;
    };
    const before = await count();
    await createKey(service, apiKey, { name: 'later', type: 'ec-p256', purpose: 'code-signing' });
    expect(await count()).toBe(before + 1);
  });

  it('replaces an agent that was killed, but not one that is running', async () => {
    const path = bench.at('run/two/pkcs11');
    const first = await startAgent(path);
    const second = await bench.run(`sealwright agent --socket ${path}`);
    expect(second).toMatchObject({ code: 1, text: expect.stringContaining('Another agent is listening') });
    first.kill('SIGKILL');
    await first.ended;
    expect(existsSync(path)).toBe(true);
    await startAgent(path);
  });

  it('refuses a directory that others can open', async () => {
    mkdirSync(bench.at('open'));
    chmodSync(bench.at('open'), 0o755);
    const run = await bench.run(`sealwright agent --socket ${bench.at('open/pkcs11')}`);
    expect(run).toMatchObject({ code: 1, text: expect.stringContaining('must be accessible only to you') });
  });

  it('reports to programs when the service is unavailable', async () => {
    const path = bench.at('run/away/pkcs11');
    await startAgent(path, '--key release');
    const { program, session } = await Pkcs11Program.ready(path);
    const [key = 0] = await program.find(session, ulongAttribute(0, 3));
    await service.kill('SIGKILL');
    const failed = await program.sign(session, key, mechanism(0, 0x1041), Buffer.alloc(32, 9));
    expect(failed).toMatchObject({ code: 0x30 });
  });
});
