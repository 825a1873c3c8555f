import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const RULES = 'docker/Dockerfile.dockerignore';
/** Generated files in a checkout that are not part of any commit. */
const MADE = ['node_modules', 'dist'];

/**
 * contextFiles returns the files that .dockerignore includes in the image build context, sorted by name. The last rule that matches a path or one of its parent
 * directories applies.
 * @param {string} root a checkout
 * @returns {string[]} paths relative to the root, with `/`
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
  if (!existsSync(full)) throw new Error(`${file} of .dockerignore does not exist`);
  if (!statSync(full).isDirectory()) return [file];
  return readdirSync(full, { withFileTypes: true }).flatMap((entry) =>
    MADE.includes(entry.name) ? [] : filesBelow(root, `${file}/${entry.name}`),
  );
}
