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
import { TeachNameDialog } from './teach-name-dialog.js';

/** A matching rule, as reported by the risk engine. */
interface Finding {
  readonly rule?: string;
  readonly id?: string;
  readonly axis?: string;
  readonly level?: Level;
  readonly status?: string;
  readonly reason?: string;
  /** What it is about: an algorithm, a cipher suite, a name that was not read. */
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

/** Matching rules of an asset with reason, sources and deadlines. */
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

/** Rules about names that were not read. */
const UNREAD = new Set(['Z-UNKNOWN-ALG', 'Z-UNREAD-PUBLIC-KEY']);

/** One click teaches a name for all assets. Keys and certificates are judged by the algorithms that they refer to. */
function TeachName({ asset }: { asset: AssetDetailView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isTeaching, setTeaching] = useState(false);
  if (asset.kind !== 'algorithm' || !may('inventory:write')) return null;
  return (
    <>
      <Button variant="secondary" onClick={() => setTeaching(true)}>
        {t('names.teach')}
      </Button>
      {isTeaching && <TeachNameDialog name={asset.name} onClose={() => setTeaching(false)} />}
    </>
  );
}

function FindingCard({ finding, asset }: { finding: Finding; asset: AssetDetailView }) {
  const { t, named } = useI18n();
  const { level, reason, axis, status, standards = [], deadlines = [], target, subject } = finding;
  const isUnread = UNREAD.has(finding.rule ?? '');
  return (
    <Card isCompact>
      <CardTitle component="h3">
        <LevelLabel level={level} /> <span className="sw-mono">{finding.rule ?? finding.id}</span>
      </CardTitle>
      <CardBody>
        <p className="sw-reason">{reason}</p>
        {isUnread && <TeachName asset={asset} />}
        <Facts
          facts={[
            [t('finding.axis'), axis && named('axis', axis)],
            [t('finding.status'), status && readable(status)],
            [t('names.unread'), isUnread && subject],
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
