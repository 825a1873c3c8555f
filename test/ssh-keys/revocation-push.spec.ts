import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { canRunSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const KRL_FILE = '/root/revoked_keys';

describe.runIf(canRunSshd())('a key revocation list is pushed', () => {
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let at: ManagedHost;
  let first: { id: string };

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
    field = new SshFleet(() => service, apiKey);
    first = await field.ask('POST', '/v1/ssh-ca', { name: 'people', kind: 'user' });
    at = await field.addHost({ config: [`RevokedKeys ${KRL_FILE}`] });
    // sshd refuses every key if the revocation list is missing, so the test provides the first list.
    writeFileSync(join(at.sshd.home('root'), 'revoked_keys'), await list());
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  const list = async () => Buffer.from(await (await fetch(`${service.url}/v1/ssh-ca/${first.id}/krl`)).arrayBuffer());
  const pushTo = async (hostIds: string[], path?: string) =>
    (await field.ask('POST', `/v1/ssh-ca/${first.id}/krl/push`, { hostIds, path })).items;
  const precious = 'keep = me\n';
  const withPrecious = ({ sshd }: ManagedHost) => {
    const file = join(sshd.home('root'), 'precious.conf');
    writeFileSync(file, precious);
    return () => readFileSync(file, 'utf8');
  };

  it('to the file in the sshd configuration, and to no other file a caller names', async () => {
    const content = withPrecious(at);
    expect(await pushTo([at.id], '/root/precious.conf')).toEqual([
      { hostId: at.id, path: KRL_FILE, done: false, code: 'ssh-ca.list-path' },
    ]);
    expect(content()).toBe(precious);
    expect(await pushTo([at.id])).toMatchObject([{ hostId: at.id, path: KRL_FILE, done: true }]);
  });

  it('neither to inventory-only hosts, nor where sshd reads no list', async () => {
    const watched = await field.addHost(
      { config: ['RevokedKeys /root/precious.conf'] },
      { managementMode: 'inventory-only' },
    );
    const without = await field.addHost();
    const contents = [withPrecious(watched), withPrecious(without)];
    const pushed = await pushTo([watched.id, without.id], '/root/precious.conf');
    const codes = Object.fromEntries(pushed.map(({ hostId, code }: Record<string, string>) => [hostId, code]));
    expect(codes).toEqual({ [watched.id]: 'host.not-managed', [without.id]: 'ssh-ca.no-list' });
    expect(watched.sshd.log()).not.toContain('Connection from');
    expect(contents.map((content) => content())).toEqual([precious, precious]);
  });

  it('as root nowhere where others control the destination', async () => {
    const open = await field.addHost({ users: ['eve'], config: ['RevokedKeys /home/eve/lists/revoked'] });
    const content = withPrecious(open);
    open.sshd.inside('runuser', '-u', 'eve', '--', 'mkdir', '/home/eve/lists');
    open.sshd.inside('runuser', '-u', 'eve', '--', 'ln', '-s', '/root/precious.conf', '/home/eve/lists/revoked');
    // sshd refuses every key if the revocation list is missing, so the test provides an initial list.
    writeFileSync(join(open.sshd.home('root'), 'precious.conf'), await list());
    const before = content();
    expect(await pushTo([open.id])).toMatchObject([{ done: false, code: 'host.unsafe-path' }]);
    expect(content()).toBe(before);
    expect(open.sshd.inside('ls', '-A', '/home/eve/lists', '/root')).not.toContain('.sealwright');
  });

  it('after the intent is in the audit log', async () => {
    await pushTo([at.id]);
    const entries = await stage.sql<{ action: string; detail: Record<string, unknown> }>(
      `SELECT action, detail FROM audit_entry WHERE action LIKE 'ssh-ca.list-push%' ORDER BY id DESC LIMIT 2`,
    );
    expect(entries).toMatchObject([
      { action: 'ssh-ca.list-pushed', detail: { hosts: [{ hostId: at.id, path: KRL_FILE, done: true }] } },
      { action: 'ssh-ca.list-push-requested', detail: { hostIds: [at.id] } },
    ]);
  });
});
