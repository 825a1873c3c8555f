import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { coloured } from './steps.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const inRoot = (...parts) => path.join(ROOT, ...parts);

/** bin returns the path of a package's program: node_modules/.bin/NAME. */
export const bin = (name) => inRoot('node_modules/.bin', name);

/** toolEnvironment returns an environment in which the packages' programs find each other and the packaged Node. */
export const toolEnvironment = (more = {}) => ({
  ...process.env,
  ...(coloured ? {} : { NO_COLOR: '1' }),
  PATH: `${inRoot('node_modules/.bin')}${path.delimiter}${process.env.PATH}`,
  ...more,
});

/** readEnvFile reads NAME=VALUE lines and removes quotes around values. A missing file is treated as an empty file. */
export function readEnvFile(file) {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const pairs = [...text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)$/gm)];
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value.trim().replace(/^(['"])(.*)\1$/, '$2')]));
}
