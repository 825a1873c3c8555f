import { Failure } from '../failure.mjs';

/** A version according to Semantic Versioning 2.0.0, without build metadata, because two builds of a version are identical. */
const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*))?$/;
const HEADING = /^## (\S+)(?: - (\d{4}-\d{2}-\d{2}))?\s*$/gm;

/**
 * assertVersion throws unless the commit matches the version: package.json and package-lock.json contain the version, the changelog has a section for the
 * version, and the version is later than the previous version.
 * @param {string} version
 * @param {{ packageJson: string, lock: string, changelog: string }} files contents of the files in the commit
 */
export function assertVersion(version, { packageJson, lock, changelog }) {
  if (parts(version) === undefined)
    throw new Failure(`"${version}" is not a semantic version`, 'Use a version such as 1.4.0 or 1.4.0-rc.1.');
  const faults = [];
  for (const [name, text] of [
    ['package.json', packageJson],
    ['package-lock.json', lock],
  ]) {
    const said = JSON.parse(text).version;
    if (said !== version) faults.push(`${name} has version ${said}`);
  }
  const sections = [...changelog.matchAll(HEADING)].filter(([, name]) => parts(name) !== undefined);
  const at = sections.findIndex(([, name]) => name === version);
  const [, , date] = sections[at] ?? [];
  if (at < 0) faults.push(`CHANGELOG.md has no section "## ${version} - YYYY-MM-DD"`);
  else if (date === undefined) faults.push(`the section ${version} of CHANGELOG.md has no date`);
  else if (textOf(changelog, sections[at]) === '') faults.push(`the section ${version} of CHANGELOG.md is empty`);
  const before = sections[at + 1]?.[1];
  if (at > 0) faults.push(`CHANGELOG.md has later versions above ${version}: ${sections[0][1]}`);
  if (before !== undefined && compareVersions(version, before) <= 0)
    faults.push(`${version} is not later than ${before}`);
  if (faults.length > 0)
    throw new Failure(`The commit does not match version ${version}: ${faults.join('; ')}`, 'See docs/releases.md.');
}

/** compareVersions compares by precedence (Semantic Versioning 2.0.0, section 11). @returns negative, 0 or positive */
export function compareVersions(one, other) {
  const [a, b] = [parts(one), parts(other)];
  for (const at of [0, 1, 2]) if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] - b.numbers[at];
  // A version without a pre-release has higher precedence than its pre-releases.
  if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
  for (let at = 0; at < Math.max(a.pre.length, b.pre.length); at += 1) {
    const order = compareIdentifiers(a.pre[at], b.pre[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareIdentifiers(one, other) {
  if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
  const [a, b] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (a && b) return Number(one) - Number(other);
  if (a !== b) return a ? -1 : 1;
  return one < other ? -1 : Number(one > other);
}

function parts(version) {
  const match = VERSION.exec(version);
  if (match === null) return undefined;
  return { numbers: match.slice(1, 4).map(Number), pre: match[4]?.split('.') ?? [] };
}

/** Returns the text of a changelog section. */
function textOf(changelog, heading) {
  const from = heading.index + heading[0].length;
  const next = changelog.slice(from).search(/^## /m);
  return changelog.slice(from, next < 0 ? undefined : from + next).trim();
}
