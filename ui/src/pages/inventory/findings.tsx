import { Button, Card, CardBody, CardTitle, List, ListItem, Stack, StackItem } from '@patternfly/react-core';
import { useState } from 'react';
import type { AssetDetailView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { Go } from '../../patterns/go.js';
import { type Level, LevelLabel } from '../../patterns/labels.js';
import { Day } from '../../patterns/moment.js';
import { Sources } from './sources.js';
import { inOrder, readable } from './readable.js';
import { SourceLink } from './source-link.js';
import { AddNameDialog } from './add-name-dialog.js';

/** Finding is a matching rule, as reported by the risk engine. */
interface Finding {
  readonly rule?: string;
  readonly id?: string;
  readonly axis?: string;
  readonly level?: Level;
  readonly status?: string;
  readonly reason?: string;
  /** The algorithm, cipher suite or unrecognized name that the finding is about. */
  readonly subject?: string;
  readonly standards?: readonly string[];
  readonly target?: string | null;
  readonly deadlines?: readonly {
    readonly date: string;
    readonly state: string;
    readonly authority: string;
    readonly jurisdiction: string;
    readonly provision?: string;
    readonly appliesTo?: string;
    readonly url?: string;
  }[];
}

/** Findings shows the rules that match an asset, with reasons, sources and deadlines. */
export function Findings({ asset }: { asset: AssetDetailView }) {
  const { t } = useI18n();
  const findings = asset.findings as readonly Finding[];
  return (
    <Stack hasGutter>
      {findings.length === 0 && <StackItem className="sw-muted">{t('finding.none')}</StackItem>}
      {findings.map((finding, index) => (
        <StackItem key={finding.rule ?? finding.id ?? index}>
          <FindingCard finding={finding} asset={asset} />
        </StackItem>
      ))}
      {asset.resolvedBy.length > 0 && (
        <StackItem>
          <Card isCompact>
            <CardTitle component="h3">{t('finding.resolvedBy')}</CardTitle>
            <CardBody>
              <List>
                {asset.resolvedBy.map(({ via, assetId }, index) => (
                  <ListItem key={`${via} ${assetId ?? index}`}>
                    {via} {assetId !== undefined && <Go to={`/assets/${assetId}`}>{assetId}</Go>}
                  </ListItem>
                ))}
              </List>
            </CardBody>
          </Card>
        </StackItem>
      )}
    </Stack>
  );
}

/** Rules that match unrecognized names. */
const UNRECOGNIZED = new Set(['Z-UNKNOWN-ALG', 'Z-UNRECOGNIZED-PUBLIC-KEY']);

/** AddName adds a custom name for all assets. Keys and certificates are assessed by the algorithms they refer to, so they need no name. */
function AddName({ asset }: { asset: AssetDetailView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAdding, setAdding] = useState(false);
  if (asset.kind !== 'algorithm' || !may('inventory:write')) return null;
  return (
    <>
      <Button variant="secondary" onClick={() => setAdding(true)}>
        {t('names.add')}
      </Button>
      {isAdding && <AddNameDialog name={asset.name} onClose={() => setAdding(false)} />}
    </>
  );
}

function FindingCard({ finding, asset }: { finding: Finding; asset: AssetDetailView }) {
  const { t, named } = useI18n();
  const { level, reason, axis, status, standards = [], deadlines = [], target, subject } = finding;
  const isUnrecognized = UNRECOGNIZED.has(finding.rule ?? '');
  return (
    <Card isCompact>
      <CardTitle component="h3">
        <LevelLabel level={level} /> <span className="sw-mono">{finding.rule ?? finding.id}</span>
      </CardTitle>
      <CardBody>
        <p className="sw-reason">{reason}</p>
        {isUnrecognized && <AddName asset={asset} />}
        <Facts
          facts={[
            [t('finding.axis'), axis && named('axis', axis)],
            [t('finding.status'), status && readable(status)],
            [t('names.unrecognized'), isUnrecognized && subject],
            [t('finding.target'), target],
            [t('finding.standards'), standards.length > 0 && <Sources key="s" standards={standards} most={6} />],
            [
              t('finding.deadlines'),
              deadlines.length > 0 && (
                <List key="d" isPlain>
                  {inOrder(deadlines).map((deadline) => (
                    <ListItem key={`${deadline.date} ${deadline.authority} ${deadline.state} ${deadline.provision}`}>
                      <strong>
                        <Day at={deadline.date} />
                      </strong>{' '}
                      {readable(deadline.state)} <SourceLink {...deadline} />
                    </ListItem>
                  ))}
                </List>
              ),
            ],
          ].filter((fact): fact is [string, string] => fact[1] !== false)}
        />
      </CardBody>
    </Card>
  );
}
