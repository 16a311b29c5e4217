// The Zod schemas of the TypeScript clients, as an ES module. They accept and refuse what the clients' own do; a
// change here means that every client has to change.

import { z } from "zod";

export const uuidSchema = z.string().uuid();

export const queryTypeSchema = z.enum(["local", "global", "relationship", "hybrid"]);
export const searchStrategySchema = z.enum(["keyword", "semantic", "graph", "hybrid"]);
export const searchResultTypeSchema = z.enum(["chunk", "entity", "community"]);

export const dateRangeSchema = z
  .object({
    start: z.date().nullable(),
    end: z.date().nullable(),
  })
  .refine((range) => !range.start || !range.end || range.start <= range.end, {
    message: "start must be before or equal to end",
  });

export const searchFiltersSchema = z.object({
  fileIds: z.array(uuidSchema).nullable(),
  entityTypes: z.array(z.string()).nullable(),
  dateRange: dateRangeSchema.nullable(),
  minRelevance: z.number().min(0).max(1).default(0.3),
});

export const searchWeightsSchema = z
  .object({
    keyword: z.number().min(0).max(1),
    semantic: z.number().min(0).max(1),
    graph: z.number().min(0).max(1),
  })
  .refine((w) => Math.abs(w.keyword + w.semantic + w.graph - 1.0) < 0.01, {
    message: "Weights must sum to 1.0",
  });

export const searchOptionsSchema = z.object({
  limit: z.number().int().min(1).max(100).default(20),
  offset: z.number().int().min(0).default(0),
  includeMetadata: z.boolean().default(true),
  includeHighlights: z.boolean().default(true),
  rerankEnabled: z.boolean().default(true),
  cragEnabled: z.boolean().default(false),
  strategies: z.array(searchStrategySchema).min(1).default(["hybrid"]),
  weights: searchWeightsSchema.default({ keyword: 0.35, semantic: 0.35, graph: 0.3 }),
});

export const searchQuerySchema = z.object({
  text: z.string().min(1).max(1000),
  type: queryTypeSchema.default("hybrid"),
  embedding: z.array(z.number()).nullable(),
  filters: searchFiltersSchema,
  options: searchOptionsSchema,
});

export const highlightOffsetSchema = z.object({
  start: z.number().int().min(0),
  end: z.number().int().min(0),
});

export const highlightSchema = z.object({
  field: z.string(),
  fragment: z.string(),
  offsets: z.array(highlightOffsetSchema),
});

export const cragScoreSchema = z.object({
  relevance: z.enum(["correct", "incorrect", "ambiguous"]),
  confidence: z.number().min(0).max(1),
  needsWebSearch: z.boolean(),
  refinedQuery: z.string().nullable(),
});

export const relevanceScoreSchema = z.object({
  combined: z.number().min(0).max(1),
  keyword: z.number().min(0).max(1),
  semantic: z.number().min(0).max(1),
  graph: z.number().min(0).max(1),
  rerank: z.number().min(0).max(1).nullable(),
  crag: cragScoreSchema.nullable(),
});

export const searchResultContentSchema = z.object({
  text: z.string(),
  summary: z.string().nullable(),
  contextBefore: z.string().nullable(),
  contextAfter: z.string().nullable(),
});

export const searchResultSourcesSchema = z.object({
  chunkId: uuidSchema.nullable(),
  fileId: uuidSchema.nullable(),
  entityIds: z.array(uuidSchema),
  communityId: uuidSchema.nullable(),
  relationIds: z.array(uuidSchema),
});

export const searchResultItemSchema = z.object({
  id: z.string(),
  type: searchResultTypeSchema,
  score: z.number().min(0).max(1),
  relevance: relevanceScoreSchema,
  content: searchResultContentSchema,
  highlights: z.array(highlightSchema),
  sources: searchResultSourcesSchema,
});

export const strategyMetricSchema = z.object({
  enabled: z.boolean(),
  resultCount: z.number().int().min(0),
  processingTime: z.number().min(0),
  topScore: z.number().min(0).max(1),
});

export const searchStrategyMetricsSchema = z.object({
  keyword: strategyMetricSchema,
  semantic: strategyMetricSchema,
  graph: strategyMetricSchema,
});

export const searchResultSchema = z.object({
  query: searchQuerySchema,
  results: z.array(searchResultItemSchema),
  totalCount: z.number().int().min(0),
  processingTime: z.number().min(0),
  strategies: searchStrategyMetricsSchema,
});

export const rrfConfigSchema = z.object({
  k: z.number().int().min(1).max(1000).default(60),
  normalizeScores: z.boolean().default(true),
});

export const rerankConfigSchema = z.object({
  enabled: z.boolean().default(true),
  model: z.string().default("cross-encoder/ms-marco-MiniLM-L-6-v2"),
  topK: z.number().int().min(1).max(100).default(50),
  batchSize: z.number().int().min(1).max(32).default(16),
});

export const queryClassificationSchema = z.object({
  originalQuery: z.string(),
  type: queryTypeSchema,
  confidence: z.number().min(0).max(1),
  extractedEntities: z.array(z.string()),
  suggestedWeights: searchWeightsSchema,
  expandedQueries: z.array(z.string()),
});
