import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const RULES = 'docker/Dockerfile.dockerignore';
/** What is made in a checkout and is in none of its commits. */
const MADE = ['node_modules', 'dist'];

/**
 * The files that .dockerignore lets into the build of the image, in the order of their names. The last rule that a path, or a folder above it,
 * meets decides.
 * @param {string} root a checkout
 * @returns {string[]} paths below it, with `/`
 */
export function contextFiles(root) {
  const rules = readFileSync(path.join(root, RULES), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ path: line.replace(/^!/, ''), isLetIn: line.startsWith('!') }));
  const isLetIn = (file) =>
    rules.findLast(({ path: rule }) => rule === '*' || file === rule || file.startsWith(`${rule}/`))?.isLetIn ?? true;
  const candidates = rules.filter((rule) => rule.isLetIn).flatMap((rule) => filesBelow(root, rule.path));
  return [...new Set(candidates)].filter(isLetIn).sort((one, other) => (one < other ? -1 : 1));
}

function filesBelow(root, file) {
  const full = path.join(root, file);
  if (!existsSync(full)) throw new Error(`${file} of .dockerignore is not there`);
  if (!statSync(full).isDirectory()) return [file];
  return readdirSync(full, { withFileTypes: true }).flatMap((entry) =>
    MADE.includes(entry.name) ? [] : filesBelow(root, `${file}/${entry.name}`),
  );
}
