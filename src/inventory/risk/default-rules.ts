import rules from './default-rules.json' with { type: 'json' };
import type { RuleSet } from '../model/rule-set.js';

/** The rules that come with the product. */
export const DEFAULT_RULES = rules as unknown as RuleSet;
