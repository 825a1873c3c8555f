import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './project.mjs';

const COMMIT_DIGITS = 12;
/** Files that determine the behavior of a build. Changes elsewhere, for example in documentation, do not mark the build as modified. */
const SOURCES = ['src', 'ui/src', 'package-lock.json', 'ui/package-lock.json'];

/**
 * writeBuildInfo writes dist/build.json, from which programs read the commit that they were built from.
 * @param {string} fingerprint SHA-256 of the sources in hex, used if the commit is unknown
 */
export function writeBuildInfo(fingerprint) {
  const file = inRoot('dist/build.json');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(
    file,
    `${JSON.stringify({ commit: sourceCommit() ?? `src.${fingerprint.slice(0, COMMIT_DIGITS)}` })}\n`,
  );
}

/**
 * sourceCommit returns the commit of the sources, with the suffix `.modified` if the working tree differs from the commit. A source archive has no repository;
 * its commit comes from SOURCE_COMMIT (docker build --build-arg) or from the file that `git archive` fills in.
 * @returns {string | undefined} undefined if no commit is known
 */
export function sourceCommit() {
  const named = process.env.SOURCE_COMMIT || archivedCommit();
  if (named) return named.slice(0, COMMIT_DIGITS);
  if (!existsSync(inRoot('.git'))) return undefined;
  try {
    const commit = git('rev-parse', `--short=${COMMIT_DIGITS}`, 'HEAD');
    return git('status', '--porcelain', '--', ...SOURCES) === '' ? commit : `${commit}.modified`;
  } catch {
    // git is not installed, or refuses a repository owned by another account.
    return undefined;
  }
}

function archivedCommit() {
  const text = readFileSync(new URL('commit.txt', import.meta.url), 'utf8').trim();
  return /^[0-9a-f]{40}$/.test(text) ? text : undefined;
}

function git(...args) {
  return execFileSync('git', args, { cwd: inRoot(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
