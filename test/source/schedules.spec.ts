import { expect, it } from 'vitest';
import { productSources } from './product-sources.js';

const SCHEDULED = /@(?:Interval|Timeout|Cron)\([^)]*\)\s*@(?:Interval|Timeout|Cron)\(/;

it('no method has two scheduling decorators, of which the framework registers one alone', () => {
  const both = productSources().filter(({ tree }) => SCHEDULED.test(tree.getFullText()));
  expect(both.map(({ path }) => path)).toEqual([]);
});
