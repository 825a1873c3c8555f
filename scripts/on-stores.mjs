import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './lib/build.mjs';
import { Failure } from './lib/failure.mjs';
import { onInterruption, runToEnd } from './lib/interruption.mjs';
import { equip, equipProof } from './lib/peers.mjs';
import { inRoot, ROOT, toolEnvironment } from './lib/project.mjs';
import { run } from './lib/run.mjs';
import { step } from './lib/steps.mjs';
import { TestStores } from './lib/test-stores.mjs';

/**
 * `npm run bench -- NAME …`, `npm run proof -- NAME …`: runs bench/NAME.ts or chaos/NAME.ts against the build with temporary stores (SW_TEST_…), starting from
 * a fresh clone. Exits with the program's exit code.
 */
const stores = new TestStores({ durable: true });

async function main() {
  process.chdir(ROOT);
  const [kind, name = '', ...args] = process.argv.slice(2);
  const program = inRoot(kind, `${name}.ts`);
  if (name === '' || !existsSync(program))
    throw new Failure(`Specify a ${kind} program`, `Available: ${programs(kind).join(', ')}`);
  await equip();
  if (kind === 'chaos') await equipProof(name);
  onInterruption(() => stores.stop());
  await step('Build', () => build());
  // Without SW_TEST_EVIDENCE, exchanges are not recorded. Recording would distort the measurement.
  const { SW_TEST_EVIDENCE: _unused, ...found } = await stores.start();
  const env = toolEnvironment(found);
  const hooks = pathToFileURL(inRoot('scripts/lib/typescript-sources.mjs')).href;
  const flags = ['--experimental-transform-types', '--disable-warning=ExperimentalWarning', '--import', hooks];
  const { code } = await run(process.execPath, [...flags, program, ...args], { env, show: true });
  return code;
}

function programs(kind) {
  if (!existsSync(inRoot(kind))) return [];
  return readdirSync(inRoot(kind))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => path.basename(file, '.ts'));
}

await runToEnd(main, () => stores.stop());
