import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApprovalFixture } from '../approvals/approvers.js';
import { sealwright } from '../client/program.js';
import { createKey, digestOf, type PublishedKey, sign, until } from '../support/signing.js';
import { openStage } from '../support/stage.js';

interface Verdict {
  readonly code: number;
  readonly valid: boolean;
  readonly findings: readonly { readonly detail: string }[];
}

/** The parts of an evidence file that tests modify. */
export interface Evidence {
  approval?: object;
  readonly request: { approvalId?: string };
  readonly key: { publicKey: string };
  readonly log: { leaves: { readonly data: string }[] };
}

/** Decodes the entry in a leaf of an evidence file. */
export function entryIn({ data }: { readonly data: string }): {
  readonly action: string;
  readonly target: { id: string };
} {
  return JSON.parse(Buffer.from(data, 'base64').toString()) as ReturnType<typeof entryIn>;
}

/** Final state of a request that was inserted into the queue with SQL. */
export interface EndedRequest {
  readonly status: string;
  readonly code: string | null;
  readonly signature: Buffer | null;
}

/**
 * Simulates an attacker who owns the database and has disabled the triggers. Also simulates an auditor who kept the log's key and a checkpoint and runs `log
 * verify --key --state` and `evidence verify --key`.
 */
export async function openWriter() {
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  const service = await stage.start();
  const place: ApprovalFixture = { stage, service, apiKey };
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-writer-'));
  const at = (name: string) => join(directory, name);
  const sql = <Row extends object>(text: string, values?: unknown[]) => stage.sql<Row>(text, values);
  const get = async (path: string) => (await service.call('GET', path, { key: apiKey })).body;

  /** Waits until a signed checkpoint covers every entry. */
  async function settled(): Promise<void> {
    await until('a checkpoint over all', 45, async () => {
      const [row] = await sql<{ open: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`,
      );
      return row?.open === false;
    });
  }

  async function verified(): Promise<Verdict> {
    const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey };
    const args = ['log', 'verify', '--key', at('log.pem'), '--state', at('log.state'), '-o', 'json'];
    const { code, out, err } = await sealwright(args, { env });
    if (out === '') throw new Error(err);
    return { code, ...(JSON.parse(out) as Omit<Verdict, 'code'>) };
  }

  async function evidenceFaults(
    requestId: string,
    change: (evidence: Evidence) => void = () => undefined,
  ): Promise<string[]> {
    const evidence = (await get(`/api/v1/sign/requests/${requestId}/evidence`)) as unknown as Evidence;
    change(evidence);
    const file = at(`${requestId}.json`);
    writeFileSync(file, JSON.stringify(evidence));
    const { out } = await sealwright(['evidence', 'verify', file, '--key', at('log.pem'), '-o', 'json']);
    return (JSON.parse(out) as { faults: string[] }).faults;
  }

  async function signedBy(key: string, text: string) {
    const { status, body } = await sign(service, { key: apiKey, body: { digest: digestOf(text), key } });
    return { status, code: body.code as string | undefined, id: body.requestId as string };
  }

  function ended(id: string): Promise<EndedRequest> {
    return until('an end', 45, async () => {
      const [row] = await sql<EndedRequest>(
        `SELECT status, failure_code AS code, signature FROM signing_request WHERE id = $1`,
        [id],
      );
      return row !== undefined && ['SIGNED', 'FAILED'].includes(row.status) && row;
    });
  }

  async function insertEntry(
    action: string,
    target: { kind: string; id: string },
    detail: object = {},
    actor = 'ann',
  ): Promise<string> {
    const id = randomUUID();
    await sql(
      `INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
       VALUES ($1, $2, 'done', 'user', $3, 'Ann Example', $4, $5, 'x', '', $6)`,
      [id, action, actor, target.kind, target.id, JSON.stringify(detail)],
    );
    return id;
  }

  /** Like `insertEntry`, with a row in `log_waiting`, so that the entry is sequenced. */
  async function insertWaiting(...entry: Parameters<typeof insertEntry>): Promise<string> {
    const id = await insertEntry(...entry);
    await sql(`INSERT INTO log_waiting (entry_id) VALUES ($1)`, [id]);
    return id;
  }

  /** Inserts a queued request for this key, as the service would write it. */
  async function insertQueued(key: PublishedKey, change: Record<string, unknown> = {}): Promise<string> {
    const id = randomUUID();
    const row = {
      id,
      status: 'QUEUED',
      digest: randomBytes(32),
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
      format: 'raw',
      key_id: key.id,
      key_name: key.name,
      key_version: 1,
      owner_id: randomUUID(),
      requested_by: randomUUID(),
      correlation: 'x',
      ...change,
    };
    const names = Object.keys(row);
    await sql(
      `INSERT INTO signing_request (${names.join(', ')}) VALUES (${names.map((_name, i) => `$${i + 1}`).join(', ')})`,
      Object.values(row),
    );
    return row.id;
  }

  /** Makes a new key refer to another token object and that object's public key, and requests a signature of this digest. */
  async function pointedAt(name: string, other: string, digest = randomBytes(32)) {
    const key = await createKey(service, apiKey, { name, type: 'ec-p256' });
    await sql(`ALTER TABLE signing_key_version DROP CONSTRAINT IF EXISTS signing_key_version_cka_id`);
    await sql(
      `UPDATE signing_key_version v SET cka_id = o.cka_id, public_key = o.public_key FROM (${other}) o WHERE v.key_id = '${key.id}'`,
    );
    const { body } = await sign(service, { key: apiKey, body: { digest: digest.toString('base64'), key: name } });
    return body as { code: string };
  }

  await signedBy('default', 'the first');
  await settled();
  writeFileSync(at('log.pem'), (await get('/api/v1/audit/log/key')).publicKey as string);
  await sql(`ALTER TABLE audit_entry DISABLE TRIGGER ALL`);
  const request = { signedBy, ended, evidenceFaults, insertEntry, insertWaiting, insertQueued, pointedAt };
  return {
    ...request,
    ...place,
    place,
    sql,
    get,
    settled,
    verified,
    /** Returns the auditor's findings as one line. */
    found: async () => (await verified()).findings.map(({ detail }) => detail).join('; '),
    health: async () => JSON.stringify(await get('/actuator/health')),
    close: async () => {
      rmSync(directory, { recursive: true, force: true });
      await stage.close();
    },
  };
}

export type Writer = Awaited<ReturnType<typeof openWriter>>;
