import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { newApprovers, newGroup, type Approver, unique } from '../approvals/approvers.js';
import type { Service } from '../support/service.js';
import { createKey, type PublishedKey, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { runTool, type ToolEnd, type ToolOptions } from '../support/tools.js';
import { sealwright } from './program.js';

/** A key with its certificate. */
export interface OpenPgpKey extends PublishedKey {
  readonly fingerprint: string;
  /** Armored. */
  readonly certificate: string;
  readonly userId: string;
}

/** A service, a home directory of somebody who signs, and gpg's own directory with the certificates of the keys. */
export interface OpenPgpStage {
  readonly stage: Stage;
  readonly service: Service;
  readonly apiKey: string;
  readonly home: string;
  /** The wrappers by which tools find our gpg. */
  readonly wrappers: string;
  /** What tools are started with: our gpg is the first that they find. */
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

/** A new key whose certificate is known to gpg. */
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

/** Makes the real gpg know a certificate, and take its user IDs for valid. */
export async function importCertificate(place: OpenPgpStage, certificate: string, fingerprint: string): Promise<void> {
  const imported = await place.run('/usr/bin/gpg', ['--batch', '--import'], { input: certificate });
  if (imported.code !== 0) throw new Error(imported.err);
  await place.run('/usr/bin/gpg', ['--batch', '--import-ownertrust'], { input: `${fingerprint}:6:\n` });
}

/** A key that signs only after somebody approved. */
export async function newGuardedOpenPgpKey(
  place: OpenPgpStage,
  type: string,
  rules: Record<string, unknown> = {},
): Promise<{ key: OpenPgpKey; approver: Approver }> {
  const key = await newOpenPgpKey(place, type);
  const approver = await requireApproval(place, key.name, rules);
  return { key, approver };
}

/** From now on somebody must approve what a key signs. */
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

/** The request of a key that waits for approval, as soon as there is one. */
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
