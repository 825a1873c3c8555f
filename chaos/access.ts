import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ROLE_NAMES, SCOPE_NAMES } from '../src/access/scopes.js';
import { openPrincipals, principalsOf, startLater } from '../test/support/access-principals.js';
import { accessTable, type AccessCell, unexpectedIn, type Verdict } from '../test/support/access-table.js';
import { accessToken } from '../test/support/access.js';
import { openStage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- access [--out FILE]
 * Calls every documented operation of the running service without a credential, as people with each role and a fresh sign-in, as people with each role and a
 * sign-in that is too old for step-up, and with API keys that each have a single scope. Compares each response with the permission matrix. --out: writes the
 * table as Markdown. Exits with 0 if all responses are as expected.
 */
const { values } = parseArgs({ options: { out: { type: 'string' } } });
const { say, check, conclude } = new Findings();
const MARKS: Readonly<Record<Verdict, string>> = {
  admitted: '✓',
  credential: '–',
  person: 'P',
  scope: '·',
  'step-up': '†',
};

/** Returns a Markdown table with operations as rows and principals as columns. */
function tableOf(cells: readonly AccessCell[]): string {
  const names = [...new Set(cells.map(({ principal }) => principal))].toSorted();
  const line = (parts: readonly string[]) => `| ${parts.join(' | ')} |`;
  const rows = [...Map.groupBy(cells, ({ operation }) => operation)].map(([operation, of]) => {
    const byName = new Map(of.map((cell) => [cell.principal, cell]));
    const marks = names.map((name) => {
      const cell = byName.get(name);
      return cell === undefined ? '' : `${MARKS[cell.found]}${cell.found === cell.expected ? '' : ' !'}`;
    });
    return line([`\`${operation}\``, ...marks]);
  });
  const legend = '✓ admitted, – no credential, P only for people, · scope missing, † step-up required, ! unexpected';
  return [
    legend,
    '',
    line(['Operation', ...names]),
    line(['---', ...names.map(() => '---')]),
    ...rows.toSorted(),
    '',
  ].join('\n');
}

const stage = await openStage();
try {
  const { apiKey, adminEmail, adminPassword } = await stage.seed();
  const service = await stage.start({ role: 'api' });
  const key = await accessToken(service, adminEmail, adminPassword);
  const { body: document } = await service.call('GET', '/api-docs', { key });
  const principals = principalsOf(await openPrincipals(service, await startLater(stage), apiKey), [
    'nobody',
    'fresh',
    'stale',
    'programs',
  ]);
  const cells = await accessTable(document, principals);
  const operations = new Set(cells.map(({ operation }) => operation)).size;
  for (const [verdict, of] of Map.groupBy(cells, ({ found }) => found))
    say(`${String(of.length).padStart(6)} ${verdict}`);
  say(`${operations} operations × ${principals.length} principals = ${cells.length} calls`);
  say(`(nobody, ${ROLE_NAMES.length} roles fresh and stale, ${SCOPE_NAMES.length} scopes)`);
  const unexpected = unexpectedIn(cells);
  for (const { operation, principal, expected, found, status } of unexpected.slice(0, 50))
    say(`${operation} as ${principal}: ${found} (${status}), expected ${expected}`);
  check('every answer is what the permission matrix says', unexpected.length === 0, `${unexpected.length} unexpected`);
  if (values.out !== undefined) writeFileSync(values.out, tableOf(cells));
} finally {
  await stage.close();
}
conclude('nobody is admitted who should not be, and nobody refused who should be admitted');
