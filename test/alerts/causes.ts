import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { newApprover, newGuardedKey, vote } from '../approvals/approvers.js';
import { about, algorithm, bom } from '../inventory/documents.js';
import { beat, registerSensor } from '../sensors/sensor-calls.js';
import { Authority } from '../support/authority.js';
import type { Service } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';
import type { Stage } from '../support/stage.js';

interface Place {
  readonly stage: Stage;
  readonly service: Service;
  readonly key: string;
  /** Waits until the webhook has been called `count` times. */
  heard(count: number): Promise<unknown>;
}

/** A way to trigger a condition, with the alerts and notifications that are expected. */
export interface Cause {
  readonly parameters?: object;
  readonly told: readonly string[];
  /** Partial matches of the alerts that are expected after the condition has been triggered. */
  readonly alerts: readonly object[];
  cause(place: Place): Promise<unknown>;
}

/** Settings shared by all processes in these tests, because any process may call the webhook. */
export const MAY_CALL = { SVC_OUTBOUND_ALLOW: '127.0.0.1/32' };

const RULE = 'Q-RSA-SIG-112';
const OPENED = ['alert.opened'];
const why = (text: RegExp, more: object = {}) => ({
  facts: expect.objectContaining({ why: expect.stringMatching(text), ...more }),
});

export const certificate = (name: string, days: number) => ({
  type: 'cryptographic-asset',
  'bom-ref': name,
  name,
  evidence: { occurrences: [{ location: `/etc/${name}.pem` }] },
  cryptoProperties: {
    assetType: 'certificate',
    certificateProperties: {
      subjectName: `CN=${name}`,
      issuerName: 'CN=ca',
      notValidBefore: '2026-01-01T00:00:00Z',
      notValidAfter: new Date(Date.now() + days * 86_400_000).toISOString(),
    },
  },
});

const MAX_TRIES = 5;

/** Sends a request. Like a real client, retries with the same Idempotency-Key if the service responds with 503. */
async function ask({ service, key }: Place, method: string, path: string, body?: object, headers = {}) {
  const once = method === 'POST' ? { 'idempotency-key': randomUUID(), ...headers } : headers;
  for (let tries = 1; ; tries += 1) {
    const answer = await service.call(method, path, { key, headers: once, body });
    if (answer.status < 300) return answer.body;
    if (answer.status !== 503 || tries === MAX_TRIES) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    await sleep(1000);
  }
}

/** Triggers each condition with a real event. The tests in test/ssh-keys, which have hosts, trigger the conditions that concern SSH keys. */
export const CAUSES: Record<string, Cause> = {
  'asset-new': {
    told: OPENED,
    alerts: [{ subject: expect.objectContaining({ kind: 'source', name: 'shop' }), count: 1 }],
    cause: (place) => ask(place, 'POST', '/api/ingest', bom([algorithm({ name: 'AES-256-GCM' })], about('shop'))),
  },
  'risk-threshold': {
    parameters: { level: 'CRITICAL' },
    told: OPENED,
    alerts: [{ facts: expect.objectContaining({ CRITICAL: 1, examples: ['MD5'] }) }],
    cause: (place) =>
      ask(
        place,
        'POST',
        '/api/ingest',
        bom([algorithm({ name: 'MD5', properties: { primitive: 'signature' } })], about('weak')),
      ),
  },
  'risk-changed': {
    told: OPENED,
    alerts: [why(/rules were changed/)],
    cause: async (place) => {
      const rsa = { name: 'RSA-2048', properties: { primitive: 'signature' } };
      await ask(place, 'POST', '/api/ingest', bom([algorithm(rsa)], about('signer')));
      const { items, version } = await ask(place, 'GET', '/api/quantum-risk/rules');
      const { id: _id, target, ...rule } = items.find(({ id }: { id: string }) => id === RULE);
      const changed = { ...rule, ...(target === null ? {} : { target }), level: 'CRITICAL' };
      await ask(place, 'PUT', `/api/quantum-risk/rules/${RULE}`, changed, { 'if-match': `"${version}"` });
    },
  },
  'certificate-expiring': {
    parameters: { days: 20 },
    told: [...OPENED, ...OPENED],
    alerts: [
      { title: 'A certificate expires soon: soon', ...why(/in 10 days/, { where: '/etc/soon.pem' }) },
      {
        title: expect.stringMatching(/CN=ending\.corp\.example/),
        ...why(/in (?:9|10) days/, { where: 'signing key ending' }),
      },
    ],
    cause: async (place) => {
      await ask(place, 'POST', '/api/ingest', bom([certificate('soon', 10.5), certificate('later', 40)], about('web')));
      const authority = new Authority();
      const { id } = await ask(place, 'POST', '/api/v1/signing-keys', { name: 'ending', type: 'ec-p256' });
      const subject = { commonName: 'ending.corp.example' };
      const { csr } = await ask(place, 'POST', `/api/v1/signing-keys/${id}/csr`, { subject });
      const { chain } = authority.issue(csr, { days: '10' });
      await ask(place, 'POST', `/api/v1/signing-keys/${id}/certificate`, { chain });
      authority.remove();
      // A worker checks the certificates in the inventory and the certificates of signing keys at startup and periodically afterwards.
      await place.stage.start({ role: 'worker', settings: MAY_CALL });
    },
  },
  'policy-violation': {
    told: [...OPENED, 'alert.resolved'],
    alerts: [
      {
        title: 'A policy requirement is violated: House rules, NO-RC4',
        status: 'RESOLVED',
        resolvedBy: null,
        ...why(/^No RC4: 1 of \d+ assets violate the requirement\.$/, { violations: 1 }),
      },
    ],
    cause: async (place) => {
      const scan = (name: string) =>
        ask(place, 'POST', '/api/ingest', bom([algorithm({ name, at: 'legacy.c' })], about('legacy')));
      const requirements = [{ identifier: 'NO-RC4', text: 'No RC4', q: 'family=RC4' }];
      const rules = { version: '1', owner: 'us', description: 'What we keep to', reviewEveryDays: 90, requirements };
      const { id: pack } = await ask(place, 'POST', '/api/policy-packs', { name: 'House rules', ...rules });
      const schedule = { name: 'house rules', intervalSeconds: 86_400, target: 'policy-check', settings: { pack } };
      const { id } = await ask(place, 'POST', '/api/schedules', schedule);
      const check = () => ask(place, 'POST', `/api/schedules/${id}/run`);
      await scan('RC4');
      await check();
      await place.heard(1);
      await scan('AES-256-GCM');
      await check();
    },
  },
  'sensor-silent': {
    told: OPENED,
    alerts: [why(/expected every 10 seconds/)],
    cause: async ({ stage, service, key }) => {
      const { id } = await registerSensor(service, key);
      await stage.sql(`UPDATE sensor SET last_heartbeat_at = now() - interval '16 seconds' WHERE id = $1`, [id]);
    },
  },
  'scan-failed': {
    told: OPENED,
    alerts: [why(/no route to host/)],
    cause: async ({ service, key }) => {
      const sensor = await registerSensor(service, key);
      await beat(service, sensor.key, { scan: { ok: false, detail: 'no route to host' } });
    },
  },
  'approvals-waiting': {
    told: [...OPENED, 'alert.resolved'],
    // The alert contains neither the title nor the requester, because alerts are visible to more people than the approval.
    alerts: [
      {
        status: 'RESOLVED',
        resolvedBy: null,
        title: expect.stringMatching(/^An approval is pending: [0-9a-f-]{36}$/),
        ...why(/^It was requested at [^ ]+, and half of the decision period has passed\.$/),
      },
    ],
    cause: async ({ stage, service, key, heard }) => {
      const place = { stage, service, apiKey: key };
      const approver = await newApprover(place);
      const guarded = await newGuardedKey(place, [{ members: [approver], threshold: 1 }]);
      const body = { digest: digestOf('waits'), key: guarded.key.name, async: true };
      const { approvalId } = (await sign(service, { key, body })).body;
      await stage.sql(`UPDATE approval SET remind_at = now() WHERE id = $1`, [approvalId]);
      await heard(1);
      await vote(service, approvalId, approver);
    },
  },
};
