import { hashId } from '../../model/asset-identity.js';
import type { ResolvedBy, RiskSubject } from '../../model/risk-subject.js';
import type { RiskVerdict } from '../../model/risk-verdict.js';
import { AssetGraph, type GraphAsset } from '../../judgement/risk/asset-graph.js';
import { memoize } from '../../judgement/risk/memoize.js';
import type { RiskEngine } from '../../judgement/risk/risk-engine.js';
import { SubjectReader } from '../../judgement/risk/subject-reader.js';

/** VerdictRow is a row of `risk_verdict`: facts and the resulting verdict. The id is the hash of the facts. */
export interface VerdictRow {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

/** Judgement contains the verdict on an asset. Assets with equal facts that were resolved in the same way share one object. */
export interface Judgement {
  /** Undefined for a component without cryptographic facts. */
  readonly verdict: VerdictRow | undefined;
  /** JSON of the steps from the asset to the algorithm; null if the asset itself names the algorithm. */
  readonly resolvedBy: string | null;
}

/** Judge classifies the assets of one document with one edition of the rules, without I/O. */
export class Judge {
  private readonly verdictRows = new Map<string, VerdictRow>();
  /** Returns the verdict on a subject. Assets with equal facts usually share one subject, which is serialized only once. */
  private readonly verdictOf = memoize((subject: RiskSubject) => this.verdict(subject));
  private readonly judgements = memoize<RiskSubject, Map<ResolvedBy[] | null, Judgement>>(() => new Map());
  private readonly reader: SubjectReader;

  constructor(
    assets: readonly GraphAsset[],
    private readonly engine: RiskEngine,
  ) {
    this.reader = new SubjectReader(new AssetGraph(assets));
  }

  judge(asset: GraphAsset): Judgement {
    const { subject, resolvedBy } = this.reader.read(asset);
    const known = this.judgements(subject);
    let judgement = known.get(resolvedBy);
    if (judgement === undefined) {
      judgement = this.judgement(asset, subject, resolvedBy);
      known.set(resolvedBy, judgement);
    }
    return judgement;
  }

  /** Returns the verdicts of all assets classified so far, without duplicates, sorted by id. */
  verdicts(): VerdictRow[] {
    return [...this.verdictRows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  private judgement({ kind }: GraphAsset, subject: RiskSubject, resolvedBy: ResolvedBy[] | null): Judgement {
    if (kind === 'component' && subject.notApplicable === true) return { verdict: undefined, resolvedBy: null };
    return {
      verdict: this.verdictOf(subject),
      resolvedBy: resolvedBy === null ? null : JSON.stringify(resolvedBy),
    };
  }

  private verdict(subject: RiskSubject): VerdictRow {
    const facts = JSON.stringify(subject);
    let row = this.verdictRows.get(facts);
    if (row === undefined) {
      row = verdictRow(this.engine, subject, facts);
      this.verdictRows.set(facts, row);
    }
    return row;
  }
}

/** Verdicts of earlier documents by facts, because most documents contain the same algorithms. */
const verdictCache = memoize<RiskEngine, Map<string, VerdictRow>>(() => new Map());
const MAX_CACHED_VERDICTS = 4096;
const MAX_CACHED_FACTS_LENGTH = 2000;

function verdictRow(engine: RiskEngine, subject: RiskSubject, facts: string): VerdictRow {
  const cache = verdictCache(engine);
  const known = cache.get(facts);
  if (known !== undefined) return known;
  const row = { id: hashId('verdict', subject), subject, verdict: engine.judge(subject) };
  if (cache.size === MAX_CACHED_VERDICTS) cache.clear();
  if (facts.length < MAX_CACHED_FACTS_LENGTH) cache.set(facts, row);
  return row;
}
