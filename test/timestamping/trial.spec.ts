import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../support/authority.js';
import { runToEnd, type Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { TIMESTAMP_QUERY } from '../support/timestamps.js';

let stage: Stage;
let service: Service;
let directory: string;

const at = (name: string) => join(directory, name);
const seed = () => runToEnd(['seed-demo', '--timestamps', '--out', at('demo.env')], stage.settings);

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sealwright-trial-'));
  stage = await openStage();
  await seed();
  service = await stage.start({ role: 'api', settings: { SVC_TSA_ALLOW: '127.0.0.0/8,::1' } });
});
afterAll(async () => {
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Returns the chain published by a trial instance: the timestamp key's certificate, and the root created for the instance. */
const chain = async (): Promise<string> => (await service.call('GET', '/tsa/chain.pem')).body;

describe('the timestamp authority of a trial instance', () => {
  it('issues tokens immediately, which openssl accepts with the published root', async () => {
    writeFileSync(at('chain.pem'), await chain());
    writeFileSync(at('file'), 'to be stamped');
    execFileSync('openssl', ['ts', '-query', '-data', at('file'), '-sha256', '-cert', '-out', at('q.tsq')]);
    const answer = await fetch(`${service.url}/tsa`, {
      method: 'POST',
      headers: { 'content-type': TIMESTAMP_QUERY },
      body: new Uint8Array(readFileSync(at('q.tsq'))),
    });
    writeFileSync(at('r.tsr'), Buffer.from(await answer.arrayBuffer()));
    const files = ['-in', at('r.tsr'), '-queryfile', at('q.tsq'), '-CAfile', at('chain.pem')];
    expect(ask('openssl', ['ts', '-verify', ...files])).toMatchObject({ ok: true });
  });

  it('remains the same when the instance is seeded again', async () => {
    const before = await chain();
    await seed();
    expect(await chain()).toBe(before);
  });
});
