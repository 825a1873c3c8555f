import { expect, it } from 'vitest';
import { visibleJson, visibleText } from '../../ui/src/patterns/visible-text.js';

it.each([
  ['photo\u202egpj.exe', 'photo⟨U+202E⟩gpj.exe'],
  ['app\u200b.exe', 'app⟨U+200B⟩.exe'],
  ['two\nlines\u2028more', 'two⟨U+000A⟩lines⟨U+2028⟩more'],
  ['a\u{e0041}', 'a⟨U+E0041⟩'],
  ['Größe 報告 🔑.txt', 'Größe 報告 🔑.txt'],
])('characters without a glyph are visible to approvers: %j', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it('client metadata is shown as JSON with its own member names and types, one member per line', () => {
  const said = { verified: { repository: 'org/app' }, person: '1', size: 1, 'a\u202eb': 'x\ny\u2028z' };
  expect(visibleJson(said).split('\n')).toEqual([
    '{',
    '  "verified": {',
    '    "repository": "org/app"',
    '  },',
    '  "person": "1",',
    '  "size": 1,',
    '  "a⟨U+202E⟩b": "x⟨U+000A⟩y⟨U+2028⟩z"',
    '}',
  ]);
});
