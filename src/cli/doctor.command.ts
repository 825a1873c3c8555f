import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { AdministrationModule } from '../app/app.module.js';
import { Config } from '../platform/config/config.js';
import { operatorsWords } from '../platform/database/database-error.js';
import { schemaFaultOf } from '../platform/instances/schema-gate.js';
import { EXAMINATIONS } from './doctor/examinations.js';
import { bad, type Finding, ok } from './doctor/finding.js';

/**
 * `doctor` looks at everything that the service stands on and does, and says what to do next. It changes nothing. The exit code is 1 when
 * something is bad, 0 otherwise. `--json` prints the findings as one JSON array; `--all` prints what is well too.
 */
export async function doctor(args: string[]): Promise<void> {
  const options = { json: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ args, options });
  const findings = await examine(new Config());
  const isBad = findings.some(({ state }) => state === 'bad');
  if (values.json) print(JSON.stringify(findings, null, 2));
  else for (const line of linesOf(findings, values.all)) print(line);
  process.exitCode = isBad ? 1 : 0;
}

/** Without database and schema nothing else can be asked. */
async function examine(config: Config): Promise<Finding[]> {
  const fault = await schemaFaultOf(config).then(
    (reason) => (reason === undefined ? undefined : bad('schema', reason, 'docs/upgrade.md')),
    (error: unknown) => bad('database', operatorsWords(error), 'runbook: database'),
  );
  if (fault !== undefined) return [fault];
  const app = await NestFactory.createApplicationContext(AdministrationModule, { logger: ['fatal'] });
  try {
    const findings: Finding[] = [ok('database', 'answers, with the schema of this version')];
    for (const [what, look] of Object.entries(EXAMINATIONS)) {
      const found = await look(app).catch((error: unknown) => [bad(what, operatorsWords(error), 'see the log')]);
      findings.push(...found);
    }
    return findings;
  } finally {
    await app.close();
  }
}

function linesOf(findings: readonly Finding[], all: boolean): string[] {
  const shown = findings.filter(({ state }) => all || state !== 'ok');
  const lines = shown.flatMap(({ state, what, detail, next }) => [
    `${state.toUpperCase().padEnd(5)}${what}: ${detail}`,
    ...(next === undefined ? [] : [`     next: ${next}`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  return [...lines, `${count('bad')} bad, ${count('warn')} to look at, ${count('ok')} well`];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
