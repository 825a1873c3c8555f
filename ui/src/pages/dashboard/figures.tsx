import { Card, CardBody, CardTitle, Skeleton } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { getSummaryOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';
import { Failed } from '../../patterns/problem.js';

interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly hint: string;
  readonly to?: string;
}

/** Figure is a key figure that links to its list. */
export function Figure({ name, value, hint, to }: FigureProps) {
  return (
    <Card isCompact isFullHeight>
      <CardTitle component="h2">{name}</CardTitle>
      <CardBody>
        <div className="sw-figure">
          {value === undefined ? <Skeleton width="5rem" /> : to === undefined ? value : <Go to={to}>{value}</Go>}
        </div>
        <div className="sw-muted">{hint}</div>
      </CardBody>
    </Card>
  );
}

export function Figures() {
  const { may } = useSession();
  return <div className="sw-grid">{may('inventory:read') && <InventoryFigures />}</div>;
}

function InventoryFigures() {
  const { t, language } = useI18n();
  const query = useQuery(getSummaryOptions());
  if (query.isError) return <Failed query={query} />;
  const { data } = query;
  const number = (value: number) => value.toLocaleString(language);
  const share = (value: number | null) =>
    value === null ? '–' : value.toLocaleString(language, { style: 'percent', maximumFractionDigits: 0 });
  return (
    <>
      <Figure
        name={t('figure.assets')}
        value={data && number(data.total)}
        hint={t('figure.assets.hint')}
        to="/assets"
      />
      <Figure
        name={t('figure.urgent')}
        value={data && number(data.levels.CRITICAL + data.levels.HIGH)}
        hint={t('figure.urgent.hint')}
        to="/assets?minLevel=HIGH&sort=-level"
      />
      <Figure name={t('figure.ready')} value={data && share(data.readiness)} hint={t('figure.ready.hint')} />
      <Figure
        name={t('figure.expired')}
        value={data && number(data.expired)}
        hint={t('figure.expired.hint')}
        to={`/assets?expiresBefore=${new Date().toISOString().slice(0, 10)}&sort=notAfter`}
      />
    </>
  );
}
