import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadavg } from 'node:os';
import { openStage } from '../test/support/stage.js';
import { fill, seconds } from './inventory/copy-limits.js';
import { documentOf } from './inventory/documents.js';
import { judgeAnew } from './inventory/judging.js';

/**
 * Measures reclassification after a rule change and rereading after a reader upgrade, with an inventory of BENCH_FILL assets (1,000,000 by default)
 * in PostgreSQL. The assets use BENCH_ALGORITHMS algorithms, each with a separate verdict row. The rule change affects a tenth of the algorithms.
 */
const FILL = Number(process.env['BENCH_FILL'] ?? 1_000_000);
const SENT = 100_000;
const KINDS = Number(process.env['BENCH_ALGORITHMS'] ?? 1000);
const WANTED_SECONDS = 60;

/** Every tenth algorithm is ECDSA, whose rule is changed. */
const algorithms = Array.from({ length: KINDS }, (_, i) =>
  i % 10 === 0 ? `ECDSA-${256 + i / 10}` : `RSA-${2048 + i}`,
);

function say(what: string, rows: number, time: number): void {
  const rate = Math.round(rows / time).toLocaleString('en');
  const missed = time > WANTED_SECONDS ? ', MISSED' : '';
  console.log(`${what.padEnd(32)}${time.toFixed(1)} s (wanted ${WANTED_SECONDS}${missed}), ${rate} assets/s`);
}

Logger.overrideLogger(false);
const stage = await openStage();
try {
  const { apiKey: key } = await stage.seed();
  const service = await stage.start({ role: 'api' });
  const body = documentOf({ assets: SENT, name: 'judged', algorithms });
  const { status, body: taken } = await service.call('POST', '/api/ingest', { key, body });
  if (status !== 200) throw new Error(JSON.stringify(taken));
  const assets = await fill(stage.databaseUrl, FILL, SENT);
  const [counted] = await stage.sql<{ verdicts: number }>('SELECT count(*)::int AS verdicts FROM risk_verdict');
  console.log(
    `${assets.toLocaleString('en')} assets of ${counted?.verdicts} sets of facts; load ${loadavg()[0]?.toFixed(1)} at the beginning`,
  );
  const { time, changed } = await judgeAnew(service, key);
  say('judging anew', assets, time);
  console.log(`${changed.toLocaleString('en')} assets have another verdict`);
  await stage.sql('UPDATE inventory_source SET reading = NULL');
  const readAgain = await seconds(async () => {
    await stage.start({ role: 'worker' });
    const waiting = 'SELECT 1 FROM inventory_source WHERE reading IS NULL OR read_after IS NOT NULL';
    while ((await stage.sql(waiting)).length > 0) await sleep(200);
  });
  say('reading again', assets, readAgain);
  console.log(`load ${loadavg()[0]?.toFixed(1)} at the end`);
} finally {
  await stage.close();
}
