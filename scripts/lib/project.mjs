import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { coloured } from './steps.mjs';

/** The root of the repository. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const inRoot = (...parts) => path.join(ROOT, ...parts);

/** A program of a package: node_modules/.bin/NAME. */
export const bin = (name) => inRoot('node_modules/.bin', name);

/** The environment in which programs of packages find each other, and the Node that was installed with them. */
export const toolEnvironment = (more = {}) => ({
  ...process.env,
  ...(coloured ? {} : { NO_COLOR: '1' }),
  PATH: `${inRoot('node_modules/.bin')}${path.delimiter}${process.env.PATH}`,
  ...more,
});

/** Reads NAME=VALUE lines; quotes around a value are taken off. No file reads as no lines. */
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
