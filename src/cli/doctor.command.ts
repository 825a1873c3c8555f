import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { AdministrationModule } from '../app.module.js';
import { Config } from '../platform/config/config.js';
import { operatorsWords, sqlState } from '../platform/errors/database-error.js';
import { schemaFaultOf } from '../platform/instances/schema-gate.js';
import { EXAMINATIONS, bad, type Finding, ok } from './doctor/examinations.js';
import { examineCredentialLimits } from './doctor/credential-limits.js';
import { examineLeftBehind } from './doctor/left-behind.js';
import { examineRights } from './doctor/rights-review.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';

/** doctor examines the installation and its dependencies, and reports the next step for each fault. */
export const doctor: AdminCommand = {
  name: 'doctor',
  usage: ['[--all] [--log] [--json]'],
  summary: 'Diagnoses the installation and reports faults with the next step; changes nothing',
  details: [
    'Checks the database and schema, token, Redis, processes with their versions and clocks, the oldest entry of each',
    'queue, the last success of each job, stored secrets, expiring certificates, disk and table sizes, foreign database',
    'objects, and rights that the audit log has revoked.',
    'BAD: does not work now. WARN: will stop working soon, or its failure would go unnoticed.',
    'Each finding names its section in docs/runbook.md.',
    '',
    '  --all    also shows passed checks, and all findings instead of the first 20',
    '  --log    compares rights with the audit log even if it has more than 200,000 leaves',
    '  --json   an array of {what, state: ok|warn|bad, detail, next}',
  ],
  codes: ['Exits with 1 if anything is bad, otherwise with 0.'],
  async run(args) {
    const flag = { type: 'boolean', default: false } as const;
    const options = { json: flag, all: flag, log: flag };
    const { values } = parseArgs({ args, options });
    const findings = await examine(new Config(), { wholeLog: values.log, all: values.all });
    if (values.json) print(JSON.stringify(findings, null, 2));
    else print(...linesOf(findings, values.all));
    process.exitCode = findings.some(({ state }) => state === 'bad') ? ADMIN_EXIT.failed : ADMIN_EXIT.done;
  },
};

/** SQLSTATEs of a lock timeout and a statement timeout. */
const LATE = new Set(['55P03', '57014']);

/** Checks the schema first, because all other examinations require a database with the schema of this version. */
async function examine(config: Config, extent: Parameters<typeof examineRights>[1]): Promise<Finding[]> {
  const fault = await schemaFaultOf(config).then(
    (reason) => (reason === undefined ? undefined : bad('schema', reason, 'docs/upgrade.md')),
    (error: unknown) => bad('database', operatorsWords(error), 'runbook: database'),
  );
  if (fault !== undefined) return [fault];
  const app = await NestFactory.createApplicationContext(AdministrationModule, { logger: ['fatal'] });
  try {
    const findings: Finding[] = [ok('database', 'responds, with the schema of this version')];
    const more = {
      'rights and the log': (from: typeof app) => examineRights(from, extent),
      'left behind': examineLeftBehind,
      'limits of credentials': examineCredentialLimits,
    };
    for (const [what, look] of Object.entries({ ...EXAMINATIONS, ...more })) {
      const found = await look(app).catch((error: unknown) => [bad(what, operatorsWords(error), nextAfter(error))]);
      findings.push(...found);
    }
    return findings;
  } finally {
    await app.close();
  }
}

/** Returns the next step after an error. After a timeout, the runbook page about transactions helps to find the transaction that holds the lock. */
function nextAfter(error: unknown): string {
  return LATE.has(sqlState(error) ?? '') ? 'runbook: transactions' : 'see the log';
}

function linesOf(findings: readonly Finding[], all: boolean): string[] {
  const shown = findings.filter(({ state }) => all || state !== 'ok');
  const lines = shown.flatMap(({ state, what, detail, next }) => [
    `${state.toUpperCase().padEnd(5)}${what}: ${detail}`,
    ...(next === undefined ? [] : [`     next: ${next}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  return [...lines, `${count('bad')} bad, ${count('warn')} warnings, ${count('ok')} ok`];
}
