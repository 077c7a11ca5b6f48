export { EventBus, type BusOptions, type BusReactor, type EmitInput, type EmitResult, type ProcessHandle } from './bus.ts';
export { type CacheMode } from './cache-account.ts';
export { type Transport } from './delivery.ts';
export { Monitor, type MonitorFilter } from './monitor.ts';
export { DELIVERY_DEADLINE_MS, type ProcessFailure, type ProcessOptions, type ProcessStatistics } from './process.ts';
export { DEFAULT_QUEUE, type OverflowPolicy, type QueueLimits } from './queue.ts';
export { type RecentEvent } from './recent.ts';
export { ReportBus, type ReportEntry } from './reports.ts';
export { type SubscribeInput } from './subscriptions.ts';
