import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.spec.ts'));
const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** Files that may log in to a host without checking whether the host may be changed, and the files that contain the scripts they run. */
const READERS: Record<string, readonly string[]> = {
  'src/discovery/deep/deep-scan.ts': ['src/discovery/deep/host-scripts.ts'],
  'src/hosts/connections/connection-tester.ts': ['src/hosts/connections/connection-tester.ts'],
  'src/hosts/connections/ssh-connections.service.ts': [],
  'src/ssh-keys/rotation/steps/rotation-precheck.ts': [
    'src/ssh-keys/rotation/steps/account-survey.ts',
    'src/ssh-keys/rotation/steps/sshd-settings.ts',
  ],
};

/** Matches shell commands that change a file, in command position, and redirection of output to a file. */
const WRITES =
  /(?:^|[;&|({`]|\b(?:then|do|else|exec|--)\s)\s*(?:mv|rm|cp|ln|dd|tee|touch|mkdir|rmdir|mktemp|mkfifo|chmod|chown|install|truncate|setfacl|setfattr|restorecon|sed\s+-i|ssh-keygen\s+(?:-q\s+)?-[tpNC])\b|>{1,2}\|?\s*(?!&|\/dev\/null)["$\w./]/m;

function scriptsIn(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTemplateExpression(node))
      found.push([node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join(' '));
    else if (ts.isStringLiteralLike(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true));
  // Ignores comments in scripts, and "2>&1", which does not write to a file.
  return found.map((script) => script.replaceAll(/^\s*#.*$/gm, '').replaceAll(/\d?>&\d/g, ''));
}

const SHELL = /\b(?:exit|exec|printf|ssh-keygen|stat) /;

describe('host sessions that write', () => {
  it('come from openToChange; all other sessions belong to known readers', () => {
    const opens = FILES.filter((file) => /\b(?:connections|ssh)\.open\(/.test(textOf(file)));
    expect(opens.sort()).toEqual(Object.keys(READERS).sort());
  });

  it('have a type that only one file constructs', () => {
    const makers = FILES.filter((file) => /\bas (?:unknown as )?ChangeSession\b/.test(textOf(file)));
    expect(makers).toEqual(['src/hosts/connections/ssh-connections.service.ts']);
  });

  it.each(Object.entries(READERS))('are not used by %s', (_reader, scripts) => {
    for (const file of scripts)
      for (const script of scriptsIn(file)) expect([file, WRITES.exec(script)?.[0]]).toEqual([file, undefined]);
  });

  it('are recognized by their scripts', () => {
    for (const file of ['src/hosts/connections/file-scripts.ts', 'src/ssh-keys/rotation/custody/holder-scripts.ts'])
      expect(scriptsIn(file).some((script) => WRITES.test(script))).toBe(true);
    for (const script of [
      'set -e; mv a b',
      'x && rm -f y',
      'cat > "$file"',
      'echo x >>/etc/passwd',
      'if a; then chmod 600 f; fi',
    ])
      expect([script, WRITES.test(script)]).toEqual([script, true]);
  });

  it('own every shell script that does not belong to a reader', () => {
    const known = [...Object.values(READERS).flat(), ...CHANGERS];
    const scripted = FILES.filter((file) => /^src\/(?:hosts|ssh-keys|discovery|platform\/ssh)\//.test(file)).filter(
      (file) => scriptsIn(file).some((script) => script.includes('\n') && SHELL.test(script) && WRITES.test(script)),
    );
    expect(scripted.filter((file) => !known.includes(file))).toEqual([]);
  });
});

/** Scripts that run only in sessions opened by `openToChange`, because the functions that run them require a ChangeSession. */
const CHANGERS = [
  'src/hosts/connections/file-scripts.ts',
  'src/ssh-keys/certificate-authority/revocation-push.service.ts',
  'src/ssh-keys/rotation/custody/holder-scripts.ts',
];
