import { describe, expect, it } from 'vitest';
import { assertVersion, compareVersions } from '../../scripts/lib/release/version.mjs';

const json = (version: string) => JSON.stringify({ version });
const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n## 1.4.0 - 2026-11-26\n\n- More.\n\n## 1.3.0 - 2026-10-01\n\n- Less.\n';
const commit = (given: { version?: string; lock?: string; changelog?: string } = {}) => ({
  packageJson: json(given.version ?? '1.4.0'),
  lock: json(given.lock ?? given.version ?? '1.4.0'),
  changelog: given.changelog ?? CHANGELOG,
});

describe('a commit is accepted as a version', () => {
  it('if package.json, its lock file and the changelog agree', () => {
    expect(() => assertVersion('1.4.0', commit())).not.toThrow();
  });

  it.each([
    ['package.json says another', commit({ version: '1.3.9', lock: '1.4.0' }), 'package.json has version 1.3.9'],
    ['its lock says another', commit({ lock: '1.3.9' }), 'package-lock.json has version 1.3.9'],
    ['there is no section', commit({ changelog: '# Changelog\n\n## Unreleased\n\n- More.\n' }), 'has no section'],
    ['the section has no date', commit({ changelog: CHANGELOG.replace(' - 2026-11-26', '') }), 'has no date'],
    ['the section is empty', commit({ changelog: CHANGELOG.replace('- More.\n', '') }), 'is empty'],
    [
      'a later one is above',
      commit({ changelog: CHANGELOG.replace('## 1.4.0', '## 1.5.0 - 2026-12-01\n\n- x\n\n## 1.4.0') }),
      'later versions above',
    ],
  ])('but not if %s', (_what, files, words) => {
    expect(() => assertVersion('1.4.0', files)).toThrow(words);
  });

  it('but not if it is older than the latest version', () => {
    const changelog = CHANGELOG.replace('## 1.3.0', '## 1.10.0');
    expect(() => assertVersion('1.4.0', commit({ changelog }))).toThrow('1.4.0 is not later than 1.10.0');
  });

  it.each(['1.4', 'v1.4.0', '01.4.0', '1.4.0+build', '1.4.0-', '1.4.0-01', ''])('but not as "%s"', (version) => {
    expect(() => assertVersion(version, commit({ version }))).toThrow('is not a semantic version');
  });
});

it('versions are ordered by precedence (Semantic Versioning 2.0.0, 11)', () => {
  const ordered = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.2.0',
    '1.10.0',
    '2.0.0',
  ];
  expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered);
});
