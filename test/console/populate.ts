import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { register } from '../auth/people.js';
import { exchange, RELEASES } from '../auth/workload-calls.js';
import { GITHUB } from '../fakes/workload-claims.js';
import { bom, algorithm, about } from '../inventory/documents.js';
import { inDays } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';

/** Creates one resource of each kind, so that every page has content. Returns the resource IDs, keyed by the names used in pages.ts. */
export async function populate(service: Service, key: string): Promise<Readonly<Record<string, string>>> {
  const call = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
    const answer = await service.call(method, path, { key, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const components = [
    algorithm({ name: 'RSA-2048', at: 'src/tls.c' }),
    algorithm({ name: 'AES-256-GCM', at: 'src/store.c' }),
    algorithm({ name: 'MD5', at: 'src/old.c' }),
    algorithm({ name: 'ML-KEM-768', at: 'src/new.c' }),
  ];
  await call('POST', '/api/ingest?source=shop', bom(components, about('shop')));
  const sent = bom([algorithm({ name: 'DES', at: 'src/pos.c' })], about('till'));
  const taken = await call('POST', '/api/v1/import/source-scan?async=true&source=till', sent);
  const attested = await call('POST', '/api/attestations', {
    pack: 'cnsa-2.0',
    statement: 'Looked at for the release.',
  });
  const assets = await call('GET', '/api/assets?name=RSA');
  const job = await jobOf(service, call);
  const signed = await service.call('POST', '/api/v1/sign/digest', {
    key: job,
    body: { digest: Buffer.alloc(32, 7).toString('base64'), metadata: { filename: 'release-2.4.1.tar.gz' } },
  });
  const keys = await call('GET', '/api/v1/signing-keys');
  const person = await register(service, 'approver');
  const me = await service.call('GET', '/api/auth/me', { key: person.accessToken });
  await call('POST', '/api/v1/approver-groups', { name: 'release managers', members: [me.body.id] });
  await call('POST', '/api/v1/approval-policies', {
    name: 'releases',
    keys: ['demo-rsa'],
    stages: [{ group: 'release managers', threshold: 1 }],
    conditions: [{ fact: 'verified.ref', op: 'in', values: ['refs/tags/v*'] }],
    unless: [{ fact: 'verified.runner_environment', op: 'in', values: ['self-hosted'] }],
  });
  const firmware = { digest: Buffer.alloc(32, 9).toString('base64'), key: 'demo-rsa' };
  const metadata = { filename: 'firmware-a7.bin', ticket: 'REL-1042' };
  await service.call('POST', '/api/v1/sign/digest', { key: job, body: { ...firmware, metadata } });
  const approvals = await call('GET', '/api/v1/approvals');
  const sshKey = await call('POST', '/v1/keys', { publicKey: newSshKey(), owner: 'platform team' });
  const authority = await call('POST', '/v1/ssh-ca', { name: 'people', kind: 'user' });
  for (const keyId of ['ann@example.org', 'bob@example.org'])
    await call('POST', `/v1/ssh-ca/${authority.id}/certificates`, {
      publicKey: newSshKey(),
      keyId,
      principals: ['deploy'],
      validAfter: new Date().toISOString(),
      validBefore: inDays(1),
    });
  await call('POST', '/v1/ssh-login-rules', {
    name: 'deploy jobs',
    authorityId: authority.id,
    subject: 'workload',
    conditions: RELEASES,
    principals: ['deploy', 'ci-{project_id}'],
    lifeSeconds: 900,
    bindAddress: true,
    forceCommand: '/usr/bin/deploy',
  });
  await call('PUT', '/api/quantum-risk/names', {
    name: 'PaymentCipher',
    means: 'AES-256-GCM',
    reason: 'Told by the vendor.',
  });
  const back = { kind: 'keyId', value: 'bob@example.org', reason: 'left the team' };
  await call('POST', `/v1/ssh-ca/${authority.id}/revocations`, back);
  const host = await call('POST', '/v1/hosts', { name: 'web1', address: '192.0.2.10', environment: 'production' });
  const networks = ['192.0.2.0/24'];
  const scope = await call('POST', '/v1/scan-scopes', { name: 'Office network', networks, ports: [22, 443] });
  const scan = await call('POST', '/v1/scans', { kind: 'ssh-network', scopeId: scope.id, targets: ['192.0.2.0/30'] });
  const { id: sensor } = await call('POST', '/api/sensors', {
    name: 'data centre east',
    kind: 'host',
    expiry: inDays(30),
  });
  const schedule = await call('POST', '/api/schedules', {
    name: 'nightly',
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    target: 'sensor-scan',
    settings: { sensor },
  });
  await call('POST', '/api/alert-rules', { name: 'new assets', condition: 'asset-new' });
  const webhook = await call('POST', '/api/webhooks', { name: 'chat', url: 'http://127.0.0.1:9/hook' });
  const alert = await until('an alert', 30, async () => (await call('GET', '/api/alerts')).items[0]);
  await call('POST', '/v1/rotation-policies', { name: 'Once a year', maxAgeDays: 365, window: { from: 22, to: 4 } });
  return {
    host: host.id,
    asset: assets.items[0].id,
    request: signed.body.requestId,
    key: keys.items[0].id,
    approval: approvals.items[0].id,
    sshKey: sshKey.id,
    sshAuthority: authority.id,
    scan: scan.id,
    schedule: schedule.id,
    import: taken.id,
    attestation: attested.id,
    policyPack: attested.pack.id,
    rule: 'Q-RSA-SIG-112',
    alert: alert.id,
    webhook: webhook.id,
    sensor,
  };
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer['body']>;

/** Returns the access token of a job whose issuer is trusted through an uploaded key. */
async function jobOf(service: Service, call: Call): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const issuer = 'https://token.actions.githubusercontent.com';
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] };
  const { id: issuerId } = await call('POST', '/api/settings/workload-issuers', { name: 'GitHub', issuer, jwks });
  const trust = { name: 'releases', issuerId, audience: service.url, conditions: RELEASES, keys: ['*'] };
  await call('POST', '/api/settings/workload-trusts', { ...trust, scopes: ['sign:digest', 'sign:read'] });
  const token = await new SignJWT({ ...GITHUB, iss: issuer, aud: service.url })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
  return (await exchange(service, token)).body.access_token as string;
}

/** Generates an SSH key and returns its public key line. */
function newSshKey(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sealwright-ssh-'));
  try {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'deploy@ci', '-f', join(folder, 'key')]);
    return readFileSync(join(folder, 'key.pub'), 'utf8').trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
