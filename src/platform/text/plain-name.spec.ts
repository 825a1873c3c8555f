import { expect, it } from 'vitest';
import { nameFault } from './plain-name.js';

it.each([
  'release keys 2026',
  'web-1.example.org:/etc/ssl (prod)',
  'Müller & Søn',
  'Nguyễn Văn A',
  'İstanbul ılık',
  'релиз',
  'Выпуск 3',
  'κλειδί',
  '鍵管理 key',
  'リリース2026',
  'مفتاح',
  'naïve e\u0301te\u0301',
  'กุญแจที่หนึ่ง',
  'मेरी कुंजियाँ',
  'מַפְתֵּחַ',
  'مُحَمَّد',
  '#1/!',
])('the name %j is accepted as unambiguous', (name) => {
  expect(nameFault(name)).toBeUndefined();
});

it.each([
  ['a blank at the end', 'release '],
  ['a blank at the beginning', ' release'],
  ['two blanks', 'release  keys'],
  ['a no-break space', 'release\u00a0keys'],
  ['a tab', 'release\tkeys'],
  ['a line break', 'release\nkeys'],
  ['a zero-width space', 'rel\u200bease'],
  ['a soft hyphen', 'rel\u00adease'],
  ['a variation selector', 'release\ufe0f'],
  ['a filler', 'release\u3164'],
  ['a blank pattern of Braille', 'release\u2800'],
  ['an object replacement character', 'release\ufffc'],
  ['an override of direction', 'rel\u202eease'],
  ['an escape', 'rel\u001b[2Kease'],
  ['a Cyrillic letter among Latin ones', 'rel\u0435ase'],
  ['a Hebrew letter among Latin ones', 'j\u05e1e'],
  ['a Devanagari digit among Latin letters', 'j\u0966e'],
  ['a Thai letter among Latin ones', 'j\u0e50e'],
  ['a Greek letter among Cyrillic ones', '\u0430\u03bf\u0435'],
  ['only Cyrillic letters that look Latin', '\u0458\u043e\u0435'],
  ['a second dot on an i', 'admi\u0307n'],
  ['an overlay', 'adm\u0338in'],
  ['a stack of marks', 'a\u0301\u0301\u0301dmin'],
  ['a stack of Thai marks', 'ก\u0e34\u0e34\u0e34\u0e34\u0e34'],
  ['a phonetic letter', '\u0251dmin'],
])('a name with %s is rejected', (_what, name) => {
  expect(nameFault(name)).toMatch(/^must not /);
});
