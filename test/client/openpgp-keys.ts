import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { newApprovers, newGroup, type Approver, unique } from '../approvals/approvers.js';
import type { Service } from '../support/service.js';
import { createKey, type PublishedKey, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { runTool, type ToolEnd, type ToolOptions } from '../support/tools.js';
import { sealwright } from './program.js';

/** An OpenPGP key and its certificate. */
export interface OpenPgpKey extends PublishedKey {
  readonly fingerprint: string;
  /** ASCII-armored certificate. */
  readonly certificate: string;
  readonly userId: string;
}

/** A service, a signer's home directory, and a gpg home with the keys' certificates. */
export interface OpenPgpStage {
  readonly stage: Stage;
  readonly service: Service;
  readonly apiKey: string;
  readonly home: string;
  /** Directory of the wrapper scripts through which tools call this product's gpg. */
  readonly wrappers: string;
  /** Environment for tools, in which this product's gpg is first in PATH. */
  readonly env: Record<string, string>;
  run(program: string, args: readonly string[], options?: Partial<ToolOptions>): Promise<ToolEnd>;
  close(): Promise<void>;
}

export async function openOpenPgpStage(): Promise<OpenPgpStage> {
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  const service = await stage.start();
  const home = mkdtempSync(join(tmpdir(), 'sealwright-gpg-'));
  const wrappers = join(home, 'wrappers');
  const gnupg = join(home, 'gnupg');
  mkdirSync(gnupg, { mode: 0o700 });
  const env = {
    PATH: [wrappers, process.env['PATH']].join(delimiter),
    HOME: home,
    GNUPGHOME: gnupg,
    SEALWRIGHT_URL: service.url,
    SEALWRIGHT_TOKEN: apiKey,
    LC_ALL: 'C.UTF-8',
  };
  const written = await sealwright(['wrappers', wrappers], { env: { HOME: home } });
  if (written.code !== 0) throw new Error(written.err);
  return {
    stage,
    service,
    apiKey,
    home,
    wrappers,
    env,
    run: (program, args, options = {}) =>
      runTool(program, args, { cwd: home, ...options, env: { ...env, ...options.env } }),
    close: async () => {
      await runTool('/usr/bin/gpgconf', ['--kill', 'all'], { env });
      rmSync(home, { recursive: true, force: true });
      await stage.close();
    },
  };
}

/** Creates a key and imports its certificate into gpg. */
export async function newOpenPgpKey(place: OpenPgpStage, type: string): Promise<OpenPgpKey> {
  const { service, apiKey } = place;
  const name = unique(type);
  const userId = `Example ${name} <${name}@example.org>`;
  const key = await createKey(service, apiKey, { name, type, purpose: 'openpgp' });
  const answer = await service.call('POST', `/api/v1/signing-keys/${key.id}/openpgp`, {
    key: apiKey,
    body: { userIds: [userId] },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  const { fingerprint, certificate } = answer.body as { fingerprint: string; certificate: string };
  await importCertificate(place, certificate, fingerprint);
  return { ...key, fingerprint, certificate, userId };
}

/** Imports a certificate into the real gpg and marks its user IDs as valid. */
export async function importCertificate(place: OpenPgpStage, certificate: string, fingerprint: string): Promise<void> {
  const imported = await place.run('/usr/bin/gpg', ['--batch', '--import'], { input: certificate });
  if (imported.code !== 0) throw new Error(imported.err);
  await place.run('/usr/bin/gpg', ['--batch', '--import-ownertrust'], { input: `${fingerprint}:6:\n` });
}

/** Creates a key whose signatures require approval. */
export async function newGuardedOpenPgpKey(
  place: OpenPgpStage,
  type: string,
  rules: Record<string, unknown> = {},
): Promise<{ key: OpenPgpKey; approver: Approver }> {
  const key = await newOpenPgpKey(place, type);
  const approver = await requireApproval(place, key.name, rules);
  return { key, approver };
}

/** Creates a policy that requires approval for a key. */
export async function requireApproval(
  place: Pick<OpenPgpStage, 'stage' | 'service' | 'apiKey'>,
  keyName: string,
  rules: Record<string, unknown> = {},
): Promise<Approver> {
  const { service, apiKey } = place;
  const [approver] = (await newApprovers(place, 1)) as [Approver];
  const group = await newGroup(place, [approver]);
  const stages = [{ group: group.body.id as string, threshold: 1 }];
  const body = { name: unique('policy'), keys: [keyName], stages, ...rules };
  const policy = await service.call('POST', '/api/v1/approval-policies', { key: apiKey, body });
  if (policy.status !== 201) throw new Error(JSON.stringify(policy.body));
  return approver;
}

/** Waits for a key's pending request. */
export async function waitingRequest(
  { service, apiKey }: Pick<OpenPgpStage, 'service' | 'apiKey'>,
  keyName: string,
): Promise<{ requestId: string; approvalId: string }> {
  return until('a request that waits', 20, async () => {
    const path = '/api/v1/sign/requests?status=PENDING_APPROVAL&limit=50';
    const { body } = await service.call('GET', path, { key: apiKey });
    return (body.items as { requestId: string; approvalId: string; key: { name: string } }[]).find(({ key }) => key.name === keyName); // prettier-ignore
  });
}
