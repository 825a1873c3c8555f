import { Stack, StackItem } from '@patternfly/react-core';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { DemoNote } from './demo-note.js';
import { Figures } from './figures.js';
import { FirstSteps } from './first-steps.js';
import { DeadlinePlot, ExpiryPlot, FamilyPlot, LevelPlot, SizePlot } from './inventory-plots.js';
import { LatencyPlot } from './latency-plot.js';
import { RecentRequests } from './recent-requests.js';
import { RiskOverTimePlot } from './risk-over-time.js';

/** DashboardPage shows only what the person may view. Every figure links to its list. */
export function DashboardPage() {
  const { t } = useI18n();
  const { may } = useSession();
  return (
    <PageFrame title={t('nav.dashboard')} lead={t('dashboard.lead')}>
      <Stack hasGutter>
        <DemoNote />
        <FirstSteps />
        <StackItem>
          <Figures />
        </StackItem>
        {may('inventory:read') && (
          <StackItem>
            <div className="sw-grid sw-grid--wide">
              <LevelPlot />
              <RiskOverTimePlot />
              <DeadlinePlot />
              <FamilyPlot />
              <SizePlot />
              <ExpiryPlot />
              {may('sign:read') && <LatencyPlot />}
              {may('sign:read') && <RecentRequests />}
            </div>
          </StackItem>
        )}
        {!may('inventory:read') && may('sign:read') && (
          <StackItem>
            <RecentRequests />
          </StackItem>
        )}
      </Stack>
    </PageFrame>
  );
}
