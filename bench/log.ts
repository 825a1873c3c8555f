import { Logger } from '@nestjs/common';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';

/** Measures the cost of the Merkle tree over the audit log as the log grows: sequencing, proofs, and export with verification. */
const SIZES = (process.env['BENCH_ENTRIES'] ?? '10000,100000').split(',').map(Number);
const PROOFS = 200;
const BATCH = 50_000;

let stage: Stage;
let service: Service;
let apiKey: string;
const directory = mkdtempSync(join(tmpdir(), 'sealwright-bench-'));

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
};
const perSecond = (count: number, took: number) =>
  `${Math.round(count / took)
    .toLocaleString('en')
    .padStart(9)}/s`;
const line = (what: string, figure: string) => console.log(`${what.padEnd(44)}${figure}`);

/** Bulk-inserts entries like those that signing writes. Returns the time in seconds, with which the time for sequencing is compared. */
async function fill(count: number): Promise<number> {
  let took = 0;
  for (let done = 0; done < count; done += BATCH) {
    const batch = Math.min(BATCH, count - done);
    took += await seconds(() =>
      stage.sql(
        `WITH entry AS (
           INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
           SELECT gen_random_uuid(), 'signing.signed', 'done', 'system', 'worker', 'signing worker', 'signing-request', gen_random_uuid()::text,
             gen_random_uuid()::text, '', '{"from": "PROCESSING", "to": "SIGNED", "attempt": 1, "signatureSha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}'
           FROM generate_series(1, $1) RETURNING id)
         INSERT INTO log_waiting (entry_id) SELECT id FROM entry`,
        [batch],
      ),
    );
  }
  return took;
}

async function numbered(): Promise<void> {
  for (;;) {
    const [row] = await stage.sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`,
    );
    if (row?.open === false) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function proofs(): Promise<number[]> {
  const entries = await stage.sql<{ id: string }>(
    `SELECT entry_id AS id FROM log_leaf WHERE index IN (SELECT (random() * (SELECT size - 1 FROM log_head))::bigint FROM generate_series(1, $1))`,
    [PROOFS],
  );
  const times: number[] = [];
  for (const { id } of entries) {
    const path = `/api/v1/audit/log/inclusion?entry=${id}`;
    times.push(1000 * (await seconds(() => service.call('GET', path, { key: apiKey }))));
  }
  return times.sort((a, b) => a - b);
}

const PROGRAM = join(import.meta.dirname, '../dist/sealwright.js');

interface Verified {
  readonly seconds: number;
  /** Peak memory of the process, in MB. */
  readonly megabytes: number;
}

/** Runs the CLI as an auditor does: exports and verifies all entries, starting from the state of the previous run. */
async function verified(...args: string[]): Promise<Verified> {
  const { body } = await service.call('GET', '/api/v1/audit/log/key', { key: apiKey });
  writeFileSync(join(directory, 'log.pem'), body.publicKey as string);
  const kept = ['--key', join(directory, 'log.pem'), '--state', join(directory, 'state')];
  const child = spawn(process.execPath, [PROGRAM, 'log', 'verify', ...kept, ...args], {
    env: { ...process.env, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let megabytes = 0;
  const watch = setInterval(() => (megabytes = Math.max(megabytes, peakOf(child.pid))), 100);
  const took = await seconds(() => once(child, 'close'));
  clearInterval(watch);
  if (child.exitCode !== 0) throw new Error(`the log does not verify: ${said}`);
  return { seconds: took, megabytes };
}

function peakOf(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function measure(size: number, before: number): Promise<void> {
  const added = size - before;
  const filled = await fill(added);
  const took = await seconds(numbered);
  const times = await proofs();
  const check = await verified();
  const growth = await verified('--quick');
  console.log(`\n${size.toLocaleString('en')} entries`);
  line('plain INSERT of the entries', perSecond(added, filled));
  line('numbered into the tree', `${perSecond(added, took)}  ${(filled / took).toFixed(2)} of INSERT`);
  const at = (share: number) => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(1)} ms`;
  line('inclusion proof over HTTP', `p50 ${at(0.5)}, p95 ${at(0.95)} (wanted under 50)`);
  line(
    'sealwright log verify',
    `${check.seconds.toFixed(1)} s, ${perSecond(size, check.seconds)}, at most ${check.megabytes.toFixed(0)} MB`,
  );
  line('sealwright log verify --quick', `${growth.seconds.toFixed(1)} s`);
}

Logger.overrideLogger(false);
stage = await openStage();
try {
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  await numbered();
  for (const [at, size] of SIZES.entries()) await measure(size, SIZES[at - 1] ?? 0);
} finally {
  rmSync(directory, { recursive: true, force: true });
  await stage.close();
}
