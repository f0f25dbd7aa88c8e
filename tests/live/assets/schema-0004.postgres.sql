CREATE TABLE public.varts_decisions (
    seq bigint NOT NULL,
    experiment integer NOT NULL,
    id character varying NOT NULL,
    version bigint NOT NULL,
    epoch integer NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    reason character varying NOT NULL,
    unit character varying,
    "time" bigint NOT NULL,
    salt character varying
);
CREATE SEQUENCE public.varts_decisions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_decisions_seq_seq OWNED BY public.varts_decisions.seq;
CREATE TABLE public.varts_events (
    experiment integer NOT NULL,
    version bigint NOT NULL,
    kind character varying NOT NULL,
    "time" bigint NOT NULL,
    decision character varying,
    arm integer,
    epoch integer,
    raw double precision,
    value double precision,
    body text,
    batch bigint,
    corrects character varying
);
CREATE TABLE public.varts_experiments (
    id integer NOT NULL,
    name character varying NOT NULL,
    seed bigint NOT NULL,
    created bigint NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    rewards bigint NOT NULL,
    swept bigint NOT NULL,
    config text NOT NULL
);
CREATE SEQUENCE public.varts_experiments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_experiments_id_seq OWNED BY public.varts_experiments.id;
CREATE TABLE public.varts_schema (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.varts_statistics (
    experiment integer CONSTRAINT varts_statistics_new_experiment_not_null NOT NULL,
    metric character varying CONSTRAINT varts_statistics_new_metric_not_null NOT NULL,
    arm integer CONSTRAINT varts_statistics_new_arm_not_null NOT NULL,
    epoch integer CONSTRAINT varts_statistics_new_epoch_not_null NOT NULL,
    rewards bigint CONSTRAINT varts_statistics_new_rewards_not_null NOT NULL,
    n double precision CONSTRAINT varts_statistics_new_n_not_null NOT NULL,
    mean double precision CONSTRAINT varts_statistics_new_mean_not_null NOT NULL,
    m2 double precision CONSTRAINT varts_statistics_new_m2_not_null NOT NULL,
    m3 double precision CONSTRAINT varts_statistics_new_m3_not_null NOT NULL,
    m4 double precision CONSTRAINT varts_statistics_new_m4_not_null NOT NULL,
    origin double precision CONSTRAINT varts_statistics_new_origin_not_null NOT NULL,
    at bigint CONSTRAINT varts_statistics_new_at_not_null NOT NULL,
    version bigint CONSTRAINT varts_statistics_new_version_not_null NOT NULL
);
CREATE TABLE public.varts_traffic (
    experiment integer NOT NULL,
    arm integer NOT NULL,
    slot integer NOT NULL,
    decided bigint NOT NULL,
    settled bigint NOT NULL
);
CREATE TABLE public.varts_units (
    experiment integer NOT NULL,
    unit character varying NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    decision character varying NOT NULL
);
ALTER TABLE ONLY public.varts_decisions ALTER COLUMN seq SET DEFAULT nextval('public.varts_decisions_seq_seq'::regclass);
ALTER TABLE ONLY public.varts_experiments ALTER COLUMN id SET DEFAULT nextval('public.varts_experiments_id_seq'::regclass);
INSERT INTO public.varts_decisions VALUES (1, 1, 'plain-1-0', 1, 1, 2, 0.3333333333333333, false, 'forced', 'unit-1', 1700000000000000, NULL);
INSERT INTO public.varts_decisions VALUES (2, 1, 'plain-2-0', 2, 1, 2, 0.3333333333333333, false, 'forced', 'unit-2', 1700000001000000, NULL);
INSERT INTO public.varts_decisions VALUES (3, 1, 'plain-3-0', 3, 1, 1, 0.3333333333333333, false, 'forced', NULL, 1700000002000000, NULL);
INSERT INTO public.varts_decisions VALUES (4, 1, 'plain-4-0', 4, 1, 2, 0.33333333333333337, false, 'policy', 'unit-4', 1700000003000000, NULL);
INSERT INTO public.varts_decisions VALUES (5, 1, 'plain-5-0', 5, 1, 0, 0.3333333333333333, false, 'forced', 'unit-0', 1700000004000000, NULL);
INSERT INTO public.varts_decisions VALUES (6, 1, 'plain-6-0', 6, 1, 2, 0.33333333333333337, false, 'policy', NULL, 1700000005000000, NULL);
INSERT INTO public.varts_decisions VALUES (7, 1, 'plain-7-0', 7, 1, 0, 0.3333333333333333, false, 'forced', 'unit-2', 1700000006000000, NULL);
INSERT INTO public.varts_decisions VALUES (8, 1, 'plain-8-0', 8, 1, 1, 0.3333333333333333, false, 'forced', 'unit-3', 1700000007000000, NULL);
INSERT INTO public.varts_decisions VALUES (9, 1, 'plain-9-0', 9, 1, 2, 0.9102574120670136, false, 'policy', NULL, 1700000008000000, NULL);
INSERT INTO public.varts_decisions VALUES (10, 1, 'plain-10-0', 10, 1, 2, 0.9186897318763536, false, 'policy', 'unit-0', 1700000009000000, NULL);
INSERT INTO public.varts_decisions VALUES (11, 1, 'plain-11-0', 11, 1, 2, 0.9077862049188677, false, 'policy', 'unit-1', 1700000010000000, NULL);
INSERT INTO public.varts_decisions VALUES (12, 1, 'plain-12-0', 12, 1, 2, 0.9099791140639234, false, 'policy', NULL, 1700000011000000, NULL);
INSERT INTO public.varts_decisions VALUES (13, 1, 'plain-13-0', 13, 1, 2, 0.9114076617072526, false, 'policy', 'unit-3', 1700000012000000, NULL);
INSERT INTO public.varts_decisions VALUES (14, 1, 'plain-14-0', 14, 1, 2, 0.9086163803882531, false, 'policy', 'unit-4', 1700000013000000, NULL);
INSERT INTO public.varts_decisions VALUES (15, 1, 'plain-15-0', 15, 1, 2, 0.9094744753355971, false, 'policy', NULL, 1700000014000000, NULL);
INSERT INTO public.varts_decisions VALUES (16, 1, 'plain-16-0', 16, 1, 2, 0.9037912842369071, false, 'policy', 'unit-1', 1700000015000000, NULL);
INSERT INTO public.varts_decisions VALUES (17, 1, 'plain-17-0', 17, 1, 2, 0.9038998837641554, false, 'policy', 'unit-2', 1700000016000000, NULL);
INSERT INTO public.varts_decisions VALUES (18, 1, 'plain-18-0', 18, 1, 2, 0.9039561743856682, false, 'policy', NULL, 1700000017000000, NULL);
INSERT INTO public.varts_decisions VALUES (19, 1, 'plain-19-0', 19, 1, 2, 0.9022946018984656, false, 'policy', 'unit-4', 1700000018000000, NULL);
INSERT INTO public.varts_decisions VALUES (20, 1, 'plain-20-0', 20, 1, 2, 0.9026580933948983, false, 'policy', 'unit-0', 1700000019000000, NULL);
INSERT INTO public.varts_decisions VALUES (21, 1, 'plain-21-0', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (22, 1, 'plain-21-1', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (23, 1, 'plain-21-2', 21, 1, 1, 0.04313879826137569, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (24, 1, 'plain-21-3', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (25, 1, 'plain-21-4', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (26, 1, 'plain-22-0', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-2', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (27, 1, 'plain-22-1', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-3', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (28, 1, 'plain-22-2', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-4', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (29, 1, 'plain-22-3', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-0', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (30, 1, 'plain-22-4', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-1', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (31, 1, 'plain-23-0', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-3', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (32, 1, 'plain-23-1', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-4', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (33, 1, 'plain-23-2', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-0', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (34, 1, 'plain-23-3', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-1', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (35, 1, 'plain-23-4', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-2', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (36, 1, 'plain-24-0', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (37, 1, 'plain-24-1', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (38, 1, 'plain-24-2', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (39, 1, 'plain-24-3', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (40, 1, 'plain-24-4', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (41, 1, 'plain-25-0', 42, 1, 2, 0.6938110092071293, false, 'policy', 'unit-0', 1700000024000000, NULL);
INSERT INTO public.varts_decisions VALUES (42, 1, 'plain-26-0', 43, 1, 2, 0.6929015305803332, false, 'policy', 'unit-1', 1700000025000000, NULL);
INSERT INTO public.varts_decisions VALUES (43, 1, 'plain-27-0', 44, 1, 2, 0.6928611568601593, false, 'policy', NULL, 1700000026000000, NULL);
INSERT INTO public.varts_decisions VALUES (44, 1, 'plain-28-0', 45, 1, 2, 0.6929676352155798, false, 'policy', 'unit-3', 1700000027000000, NULL);
INSERT INTO public.varts_decisions VALUES (45, 1, 'plain-29-0', 46, 1, 2, 0.6926385427284609, false, 'policy', 'unit-4', 1700000028000000, NULL);
INSERT INTO public.varts_decisions VALUES (46, 1, 'plain-30-0', 47, 1, 2, 0.6927528595299753, false, 'policy', NULL, 1700000029000000, NULL);
INSERT INTO public.varts_decisions VALUES (47, 1, 'plain-31-0', 48, 1, 2, 0.6920441823836601, false, 'policy', 'unit-1', 1700000030000000, NULL);
INSERT INTO public.varts_decisions VALUES (48, 1, 'plain-32-0', 49, 1, 3, 0.25, false, 'forced', 'unit-2', 1700000031000000, NULL);
INSERT INTO public.varts_decisions VALUES (49, 1, 'plain-33-0', 50, 1, 2, 0.6920504799224683, false, 'policy', NULL, 1700000032000000, NULL);
INSERT INTO public.varts_decisions VALUES (50, 1, 'plain-34-0', 51, 1, 3, 0.25, false, 'forced', 'unit-4', 1700000033000000, NULL);
INSERT INTO public.varts_decisions VALUES (51, 1, 'plain-35-0', 52, 1, 3, 0.3333333333333333, false, 'forced', 'unit-0', 1700000034000000, NULL);
INSERT INTO public.varts_decisions VALUES (52, 1, 'plain-36-0', 53, 1, 3, 0.855803790154169, false, 'policy', NULL, 1700000035000000, NULL);
INSERT INTO public.varts_decisions VALUES (53, 1, 'plain-37-0', 54, 1, 3, 0.9358997393588915, false, 'policy', 'unit-2', 1700000036000000, NULL);
INSERT INTO public.varts_decisions VALUES (54, 1, 'plain-38-0', 55, 1, 3, 0.9207892747791269, false, 'policy', 'unit-3', 1700000037000000, NULL);
INSERT INTO public.varts_decisions VALUES (55, 1, 'plain-39-0', 56, 1, 3, 0.9545576779356952, false, 'policy', NULL, 1700000038000000, NULL);
INSERT INTO public.varts_decisions VALUES (56, 1, 'plain-40-0', 59, 2, 1, 0.10307421188080046, false, 'floor', 'unit-0', 1700000039000000, NULL);
INSERT INTO public.varts_decisions VALUES (57, 1, 'plain-41-0', 60, 2, 3, 0.6700767507409255, false, 'floor', 'unit-1', 1700000040000000, NULL);
INSERT INTO public.varts_decisions VALUES (58, 1, 'plain-42-0', 61, 2, 3, 0.6774799081776683, false, 'policy', NULL, 1700000041000000, NULL);
INSERT INTO public.varts_decisions VALUES (59, 1, 'plain-43-0', 62, 2, 3, 0.6745918611692635, false, 'floor', 'unit-3', 1700000042000000, NULL);
INSERT INTO public.varts_decisions VALUES (60, 1, 'plain-44-0', 63, 2, 1, 0.1006816916784, false, 'floor', 'unit-4', 1700000043000000, NULL);
INSERT INTO public.varts_decisions VALUES (61, 1, 'plain-45-0', 64, 2, 3, 0.6778935724564098, false, 'policy', NULL, 1700000044000000, NULL);
INSERT INTO public.varts_decisions VALUES (62, 1, 'plain-46-0', 65, 2, 2, 0.10205873455239463, false, 'floor', 'unit-1', 1700000045000000, NULL);
INSERT INTO public.varts_decisions VALUES (63, 1, 'plain-47-0', 66, 2, 3, 0.6780914866522618, false, 'policy', 'unit-2', 1700000046000000, NULL);
INSERT INTO public.varts_decisions VALUES (64, 1, 'plain-48-0', 67, 2, 1, 0.10044324446174767, false, 'floor', NULL, 1700000047000000, NULL);
INSERT INTO public.varts_decisions VALUES (65, 1, 'plain-49-0', 68, 2, 3, 0.6771580501264667, false, 'policy', 'unit-4', 1700000048000000, NULL);
INSERT INTO public.varts_decisions VALUES (66, 2, 'rich-50-0', 1, 1, 0, 0.9288971470990565, false, 'policy', '0fc904a87253ff072bf08f7c132e5517', 1700000049000000, NULL);
INSERT INTO public.varts_decisions VALUES (67, 2, 'rich-51-0', 2, 1, 0, 0.965495973928485, false, 'policy', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000050000000, NULL);
INSERT INTO public.varts_decisions VALUES (68, 2, 'rich-52-0', 2, 1, 0, 0.5, false, 'holdout', '997853c5e724f7c36107dbe21fee62a8', 1700000051000000, NULL);
INSERT INTO public.varts_decisions VALUES (69, 2, 'rich-53-0', 2, 1, 0, 0.965495973928485, false, 'policy', '82047323da3d13321d455f28cc22f9a7', 1700000052000000, NULL);
INSERT INTO public.varts_decisions VALUES (70, 2, 'rich-54-0', 3, 1, 0, 0.9688053036077952, false, 'policy', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000053000000, NULL);
INSERT INTO public.varts_decisions VALUES (71, 2, 'rich-55-0', 4, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000054000000, NULL);
INSERT INTO public.varts_decisions VALUES (72, 2, 'rich-56-0', 5, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000055000000, NULL);
INSERT INTO public.varts_decisions VALUES (73, 2, 'rich-57-0', 7, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000056000000, NULL);
INSERT INTO public.varts_decisions VALUES (74, 2, 'rich-58-0', 9, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000057000000, NULL);
INSERT INTO public.varts_decisions VALUES (75, 2, 'rich-59-0', 10, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000058000000, NULL);
INSERT INTO public.varts_decisions VALUES (76, 2, 'rich-60-0', 11, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000059000000, NULL);
INSERT INTO public.varts_decisions VALUES (77, 2, 'rich-61-0', 12, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000060000000, NULL);
INSERT INTO public.varts_decisions VALUES (78, 2, 'rich-62-0', 12, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000061000000, NULL);
INSERT INTO public.varts_decisions VALUES (79, 2, 'rich-63-0', 12, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000062000000, NULL);
INSERT INTO public.varts_decisions VALUES (80, 2, 'rich-64-0', 13, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000063000000, NULL);
INSERT INTO public.varts_decisions VALUES (81, 2, 'rich-65-0', 14, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000064000000, NULL);
INSERT INTO public.varts_decisions VALUES (82, 2, 'rich-66-0', 15, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000065000000, NULL);
INSERT INTO public.varts_decisions VALUES (83, 2, 'rich-67-0', 17, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000066000000, NULL);
INSERT INTO public.varts_decisions VALUES (84, 2, 'rich-68-0', 19, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000067000000, NULL);
INSERT INTO public.varts_decisions VALUES (85, 2, 'rich-69-0', 20, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000068000000, NULL);
INSERT INTO public.varts_decisions VALUES (86, 2, 'rich-70-0', 21, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000069000000, NULL);
INSERT INTO public.varts_decisions VALUES (87, 2, 'rich-71-0', 22, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000070000000, NULL);
INSERT INTO public.varts_decisions VALUES (88, 2, 'rich-72-0', 22, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000071000000, NULL);
INSERT INTO public.varts_decisions VALUES (89, 2, 'rich-73-0', 22, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000072000000, NULL);
INSERT INTO public.varts_decisions VALUES (90, 2, 'rich-74-0', 23, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000073000000, NULL);
INSERT INTO public.varts_decisions VALUES (91, 2, 'rich-75-0', 24, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000074000000, NULL);
INSERT INTO public.varts_decisions VALUES (92, 2, 'rich-76-0', 25, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000075000000, NULL);
INSERT INTO public.varts_decisions VALUES (93, 2, 'rich-77-0', 27, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000076000000, NULL);
INSERT INTO public.varts_decisions VALUES (94, 2, 'rich-78-0', 29, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000077000000, NULL);
INSERT INTO public.varts_decisions VALUES (95, 2, 'rich-79-0', 30, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000078000000, NULL);
INSERT INTO public.varts_decisions VALUES (96, 2, 'rich-80-0', 32, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000079000000, NULL);
INSERT INTO public.varts_decisions VALUES (97, 2, 'rich-81-0', 33, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000080000000, NULL);
INSERT INTO public.varts_decisions VALUES (98, 2, 'rich-82-0', 34, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000081000000, NULL);
INSERT INTO public.varts_decisions VALUES (99, 2, 'rich-83-0', 35, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000082000000, NULL);
INSERT INTO public.varts_decisions VALUES (100, 2, 'rich-84-0', 36, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000083000000, NULL);
INSERT INTO public.varts_decisions VALUES (101, 2, 'rich-85-0', 37, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000084000000, NULL);
INSERT INTO public.varts_decisions VALUES (102, 2, 'rich-86-0', 38, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000085000000, NULL);
INSERT INTO public.varts_decisions VALUES (103, 2, 'rich-87-0', 39, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000086000000, NULL);
INSERT INTO public.varts_decisions VALUES (104, 2, 'rich-88-0', 40, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000087000000, NULL);
INSERT INTO public.varts_decisions VALUES (105, 2, 'rich-89-0', 41, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000088000000, NULL);
INSERT INTO public.varts_decisions VALUES (106, 2, 'rich-90-0', 43, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000089000000, NULL);
INSERT INTO public.varts_decisions VALUES (107, 2, 'rich-91-0', 44, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000090000000, NULL);
INSERT INTO public.varts_decisions VALUES (108, 2, 'rich-92-0', 45, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000091000000, NULL);
INSERT INTO public.varts_decisions VALUES (109, 2, 'rich-93-0', 46, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000092000000, NULL);
INSERT INTO public.varts_decisions VALUES (110, 2, 'rich-94-0', 47, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000093000000, NULL);
INSERT INTO public.varts_decisions VALUES (111, 2, 'rich-95-0', 48, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000094000000, NULL);
INSERT INTO public.varts_decisions VALUES (112, 2, 'rich-96-0', 48, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000095000000, NULL);
INSERT INTO public.varts_decisions VALUES (113, 2, 'rich-97-0', 48, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000096000000, NULL);
INSERT INTO public.varts_decisions VALUES (114, 2, 'rich-98-0', 49, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000097000000, NULL);
INSERT INTO public.varts_decisions VALUES (115, 2, 'rich-99-0', 50, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000098000000, NULL);
INSERT INTO public.varts_decisions VALUES (116, 2, 'rich-100-0', 51, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000099000000, NULL);
INSERT INTO public.varts_decisions VALUES (117, 2, 'rich-101-0', 53, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000100000000, NULL);
INSERT INTO public.varts_decisions VALUES (118, 2, 'rich-102-0', 55, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000101000000, NULL);
INSERT INTO public.varts_decisions VALUES (119, 2, 'rich-103-0', 56, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000102000000, NULL);
INSERT INTO public.varts_decisions VALUES (120, 2, 'rich-104-0', 57, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000103000000, NULL);
INSERT INTO public.varts_decisions VALUES (121, 3, 'index-105-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000104000000, NULL);
INSERT INTO public.varts_decisions VALUES (122, 3, 'index-106-0', 2, 1, 0, 0.5, false, 'policy', 'unit-1', 1700000105000000, NULL);
INSERT INTO public.varts_decisions VALUES (123, 3, 'index-107-0', 3, 1, 0, 0.5, false, 'policy', 'unit-2', 1700000106000000, NULL);
INSERT INTO public.varts_decisions VALUES (124, 3, 'index-108-0', 4, 1, 1, 0.5, false, 'forced', NULL, 1700000107000000, NULL);
INSERT INTO public.varts_decisions VALUES (125, 3, 'index-109-0', 5, 1, 1, 1, false, 'policy', 'unit-4', 1700000108000000, NULL);
INSERT INTO public.varts_decisions VALUES (126, 3, 'index-110-0', 6, 1, 1, 1, false, 'policy', 'unit-0', 1700000109000000, NULL);
INSERT INTO public.varts_decisions VALUES (127, 3, 'index-111-0', 7, 1, 1, 1, false, 'policy', NULL, 1700000110000000, NULL);
INSERT INTO public.varts_decisions VALUES (128, 3, 'index-112-0', 8, 1, 1, 1, false, 'policy', 'unit-2', 1700000111000000, NULL);
INSERT INTO public.varts_decisions VALUES (129, 3, 'index-113-0', 9, 1, 1, 1, false, 'policy', 'unit-3', 1700000112000000, NULL);
INSERT INTO public.varts_decisions VALUES (130, 3, 'index-114-0', 10, 1, 1, 1, false, 'policy', NULL, 1700000113000000, NULL);
INSERT INTO public.varts_decisions VALUES (131, 3, 'index-115-0', 11, 1, 1, 1, false, 'policy', 'unit-0', 1700000114000000, NULL);
INSERT INTO public.varts_decisions VALUES (132, 3, 'index-116-0', 12, 1, 1, 1, false, 'policy', 'unit-1', 1700000115000000, NULL);
INSERT INTO public.varts_decisions VALUES (133, 3, 'index-117-0', 14, 1, 1, 1, false, 'winner', NULL, 1700000116000000, NULL);
INSERT INTO public.varts_decisions VALUES (134, 3, 'index-118-0', 15, 1, 1, 1, false, 'winner', 'unit-3', 1700000117000000, NULL);
INSERT INTO public.varts_decisions VALUES (135, 3, 'index-119-0', 16, 1, 1, 1, false, 'winner', 'unit-4', 1700000118000000, NULL);
INSERT INTO public.varts_decisions VALUES (136, 4, 'asked-120-0', 1, 1, 1, 0.5, false, 'forced', NULL, 1700000119000000, '44aec9ee4bf99df9e70f109b672fd93c');
INSERT INTO public.varts_decisions VALUES (137, 4, 'asked-121-0', 2, 1, 0, 0.5, false, 'forced', 'unit-1', 1700000120000000, 'c6495a2a757f02d6fd7bf1a3e0498510');
INSERT INTO public.varts_decisions VALUES (138, 4, 'asked-122-0', 3, 1, 0, 0.5, false, 'forced', 'unit-2', 1700000121000000, '446935b3dd1b4209858db56b14b2a80c');
INSERT INTO public.varts_decisions VALUES (139, 4, 'asked-123-0', 4, 1, 0, 0.5, false, 'policy', NULL, 1700000122000000, 'ab3e7482891911236977af37f8d131a9');
INSERT INTO public.varts_decisions VALUES (140, 4, 'asked-124-0', 5, 1, 1, 0.5, false, 'forced', 'unit-4', 1700000123000000, '0cefbdd5ff4142a9d707a3140a87de9f');
INSERT INTO public.varts_decisions VALUES (141, 4, 'asked-125-0', 6, 1, 1, 0.8627205171342759, false, 'policy', 'unit-0', 1700000124000000, 'fe9dd9de7533659f2e7926c764ed4d61');
INSERT INTO public.varts_decisions VALUES (142, 4, 'asked-126-0', 7, 1, 1, 0.9235174805133541, false, 'policy', NULL, 1700000125000000, '2104d761ae1f33021ce3202a33767621');
INSERT INTO public.varts_decisions VALUES (143, 4, 'asked-127-0', 8, 1, 1, 0.9011755394010882, false, 'policy', 'unit-2', 1700000126000000, 'fbe4ff68713ae5aebd3ac078982f7d19');
INSERT INTO public.varts_decisions VALUES (144, 4, 'asked-128-0', 9, 1, 1, 0.9216097270596177, false, 'policy', 'unit-3', 1700000127000000, '0deabb4f1d1b894bceb8fbd2eaa8ab30');
INSERT INTO public.varts_decisions VALUES (145, 4, 'asked-129-0', 10, 1, 1, 0.9394528496137687, false, 'policy', NULL, 1700000128000000, 'afb577ba47934a08833d7af23903bce8');
INSERT INTO public.varts_decisions VALUES (146, 4, 'asked-130-0', 11, 1, 1, 0.9377963665485053, false, 'policy', 'unit-0', 1700000129000000, '3b965407019e6b1c54f12e602400b25d');
INSERT INTO public.varts_decisions VALUES (147, 4, 'asked-131-0', 12, 1, 1, 0.9461205691573745, false, 'policy', 'unit-1', 1700000130000000, '723718bd91039bb1d98d14e609ab045d');
INSERT INTO public.varts_decisions VALUES (148, 4, 'asked-132-0', 14, 1, 1, 0.9367239081313762, false, 'policy', NULL, 1700000131000000, '05253d10ad9e30f6c73be87d31d55fad');
INSERT INTO public.varts_decisions VALUES (149, 4, 'asked-133-0', 15, 1, 1, 0.9404740031718565, false, 'policy', 'unit-3', 1700000132000000, 'ca6cc567c7c0838aa931237c56e7e03f');
INSERT INTO public.varts_decisions VALUES (150, 4, 'asked-134-0', 16, 1, 1, 0.9469022583602461, false, 'policy', 'unit-4', 1700000133000000, '3bb37f2244d2020bd833f41767ee74ea');
INSERT INTO public.varts_decisions VALUES (151, 4, 'asked-135-0', 17, 1, 1, 0.9453279218897551, false, 'policy', NULL, 1700000134000000, 'bb97d4327f63983a4ede221e1304a42e');
INSERT INTO public.varts_decisions VALUES (152, 4, 'asked-136-0', 18, 1, 1, 0.9490262813963279, false, 'policy', 'unit-1', 1700000135000000, '88b967660117be747984f4b22b335ba4');
INSERT INTO public.varts_decisions VALUES (153, 4, 'asked-137-0', 19, 1, 1, 0.9439461690173844, false, 'policy', 'unit-2', 1700000136000000, '7c01adb712cc09d7bec45f79a0772bba');
INSERT INTO public.varts_decisions VALUES (154, 4, 'asked-138-0', 20, 1, 1, 0.94561874809665, false, 'policy', NULL, 1700000137000000, 'ad3950f0e12eefddd44eecad6ac6309c');
INSERT INTO public.varts_decisions VALUES (155, 4, 'asked-139-0', 21, 1, 1, 0.9370123496476792, false, 'policy', 'unit-4', 1700000138000000, '4303a6b4c52a4995ac14a01c07805b93');
INSERT INTO public.varts_decisions VALUES (156, 4, 'asked-140-0', 22, 1, 1, 0.9366609339091766, false, 'policy', 'unit-0', 1700000139000000, '98d5dda898541a2ee45072a0da9b97f1');
INSERT INTO public.varts_decisions VALUES (157, 4, 'asked-141-0', 23, 1, 1, 0.9403197020904157, false, 'policy', NULL, 1700000140000000, '5607fff7f0b50ac0fa9cdf4cb1d4f77a');
INSERT INTO public.varts_decisions VALUES (158, 4, 'asked-142-0', 24, 1, 1, 0.9370753812114055, false, 'policy', 'unit-2', 1700000141000000, '0e0152e730b4eadd29dd36148c07bcac');
INSERT INTO public.varts_decisions VALUES (159, 4, 'asked-143-0', 25, 1, 1, 0.9389890821488287, false, 'policy', 'unit-3', 1700000142000000, '001eccd0580915c360be1f667877ee47');
INSERT INTO public.varts_decisions VALUES (160, 5, 'coin-0', 1, 1, 0, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (161, 5, 'coin-1', 2, 1, 1, 0.6666666666666666, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (162, 5, 'coin-2', 3, 1, 1, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (163, 5, 'coin-3', 4, 1, 1, 0.7, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (164, 5, 'coin-4', 5, 1, 1, 0.8000000000000002, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (165, 5, 'coin-5', 6, 1, 0, 0.28571428571428537, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (166, 5, 'coin-6', 7, 1, 0, 0.4999999999999999, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (167, 5, 'coin-7', 8, 1, 0, 0.6428571428571428, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (168, 5, 'coin-8', 9, 1, 0, 0.7380952380952381, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (169, 5, 'coin-9', 10, 1, 0, 0.608225108225108, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (170, 5, 'coin-10', 11, 1, 1, 0.4999999999999998, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (171, 5, 'coin-11', 12, 1, 0, 0.6165501165501166, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (172, 6, 'fixed-144-0', 1, 1, 1, 0.5, false, 'forced', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (173, 6, 'fixed-145-0', 2, 1, 0, 0.5, false, 'forced', 'unit-0', 1700000144000000, NULL);
INSERT INTO public.varts_decisions VALUES (174, 6, 'fixed-146-0', 3, 1, 1, 0.5, false, 'forced', 'unit-1', 1700000145000000, NULL);
INSERT INTO public.varts_decisions VALUES (175, 6, 'fixed-147-0', 4, 1, 0, 0.5, false, 'forced', NULL, 1700000146000000, NULL);
INSERT INTO public.varts_decisions VALUES (176, 6, 'fixed-148-0', 5, 1, 1, 0.7137721273028694, false, 'policy', 'unit-3', 1700000147000000, NULL);
INSERT INTO public.varts_decisions VALUES (177, 6, 'fixed-149-0', 6, 1, 0, 0.5, false, 'holdout', 'unit-4', 1700000148000000, NULL);
INSERT INTO public.varts_decisions VALUES (178, 6, 'fixed-150-0', 7, 1, 1, 0.6879795040860764, false, 'policy', NULL, 1700000149000000, NULL);
INSERT INTO public.varts_decisions VALUES (179, 6, 'fixed-151-0', 8, 1, 1, 0.8231304525916483, false, 'policy', 'unit-1', 1700000150000000, NULL);
INSERT INTO public.varts_decisions VALUES (180, 6, 'fixed-152-0', 9, 1, 1, 0.8279147727968602, false, 'policy', 'unit-2', 1700000151000000, NULL);
INSERT INTO public.varts_decisions VALUES (181, 6, 'fixed-153-0', 10, 1, 0, 0.12344814501994235, false, 'policy', NULL, 1700000152000000, NULL);
INSERT INTO public.varts_decisions VALUES (182, 6, 'fixed-154-0', 11, 1, 1, 0.5, false, 'holdout', 'unit-4', 1700000153000000, NULL);
INSERT INTO public.varts_decisions VALUES (183, 6, 'fixed-155-0', 12, 1, 1, 0.9478409492914444, false, 'policy', 'unit-0', 1700000154000000, NULL);
INSERT INTO public.varts_decisions VALUES (184, 6, 'fixed-156-0', 13, 1, 1, 0.958152715642218, false, 'policy', NULL, 1700000155000000, NULL);
INSERT INTO public.varts_decisions VALUES (185, 6, 'fixed-157-0', 14, 1, 1, 0.9546706216814319, false, 'policy', 'unit-2', 1700000156000000, NULL);
INSERT INTO public.varts_decisions VALUES (186, 6, 'fixed-158-0', 15, 1, 1, 0.9592971262843436, false, 'policy', 'unit-3', 1700000157000000, NULL);
INSERT INTO public.varts_decisions VALUES (187, 6, 'fixed-159-0', 16, 1, 1, 0.9488677117636249, false, 'policy', NULL, 1700000158000000, NULL);
INSERT INTO public.varts_decisions VALUES (188, 6, 'fixed-160-0', 17, 1, 1, 0.9500774511419757, false, 'policy', 'unit-0', 1700000159000000, NULL);
INSERT INTO public.varts_decisions VALUES (189, 6, 'fixed-161-0', 18, 1, 1, 0.9535526619368585, false, 'policy', 'unit-1', 1700000160000000, NULL);
INSERT INTO public.varts_decisions VALUES (190, 6, 'fixed-162-0', 19, 1, 0, 0.5, false, 'holdout', NULL, 1700000161000000, NULL);
INSERT INTO public.varts_decisions VALUES (191, 6, 'fixed-163-0', 20, 1, 1, 0.9663223967343224, false, 'policy', 'unit-3', 1700000162000000, NULL);
INSERT INTO public.varts_decisions VALUES (193, 6, '0660787d8fbe9c34171f52919cdb', 21, 1, 1, 0.9582333907700807, false, 'policy', 'bob', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (194, 6, '0660787d8fbe9c7255cdbcf21d80', 21, 1, 1, 0.9582333907700807, false, 'policy', NULL, 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (192, 6, '0660787d8fbe9ce00ac1c265f66b', 21, 1, 1, 0.9582333907700807, false, 'policy', 'forgotten:111950f0c7b6c2f271da85379b4b1522', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (195, 6, 'fixed-164-0', 36, 2, 0, 1, false, 'winner', 'unit-4', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (196, 6, 'fixed-165-0', 37, 2, 0, 1, false, 'winner', NULL, 1700000164000000, NULL);
INSERT INTO public.varts_decisions VALUES (197, 6, 'fixed-166-0', 38, 2, 0, 1, false, 'winner', 'unit-1', 1700000165000000, NULL);
INSERT INTO public.varts_decisions VALUES (198, 6, 'fixed-167-0', 40, 2, 1, 0.9413501939932186, false, 'policy', 'unit-2', 1700000166000000, NULL);
INSERT INTO public.varts_decisions VALUES (199, 6, 'fixed-168-0', 41, 2, 1, 0.5, false, 'holdout', NULL, 1700000167000000, NULL);
INSERT INTO public.varts_decisions VALUES (200, 6, 'fixed-169-0', 42, 2, 0, 0.5, false, 'holdout', 'unit-4', 1700000168000000, NULL);
INSERT INTO public.varts_decisions VALUES (201, 6, 'fixed-170-0', 43, 2, 1, 0.9662894590880559, false, 'policy', 'unit-0', 1700000169000000, NULL);
INSERT INTO public.varts_decisions VALUES (202, 6, 'fixed-171-0', 44, 2, 1, 0.9558909476102895, false, 'policy', NULL, 1700000170000000, NULL);
INSERT INTO public.varts_events VALUES (1, 1, 'create', 1700000000000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 3, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 1835678346800764781, NULL);
INSERT INTO public.varts_events VALUES (1, 2, 'reward', 1700000001000000, 'plain-1-0', 2, 1, 2.82, 2.82, NULL, 3696001317233200238, NULL);
INSERT INTO public.varts_events VALUES (1, 3, 'reward', 1700000002000000, 'plain-2-0', 2, 1, 3.64, 3.64, NULL, 3456374817483680704, NULL);
INSERT INTO public.varts_events VALUES (1, 4, 'reward', 1700000003000000, 'plain-3-0', 1, 1, 1.44, 1.44, NULL, 7521635559124492571, NULL);
INSERT INTO public.varts_events VALUES (1, 5, 'reward', 1700000004000000, 'plain-4-0', 2, 1, 3.26, 3.26, NULL, 5309225293445600600, NULL);
INSERT INTO public.varts_events VALUES (1, 6, 'reward', 1700000005000000, 'plain-5-0', 0, 1, 0.06, 0.06, NULL, 480168590746733728, NULL);
INSERT INTO public.varts_events VALUES (1, 7, 'reward', 1700000006000000, 'plain-6-0', 2, 1, 2.88, 2.88, NULL, 8032762746719213738, NULL);
INSERT INTO public.varts_events VALUES (1, 8, 'reward', 1700000007000000, 'plain-7-0', 0, 1, 1.7, 1.7, NULL, 5477420581480828348, NULL);
INSERT INTO public.varts_events VALUES (1, 9, 'reward', 1700000008000000, 'plain-8-0', 1, 1, 1.5, 1.5, NULL, 538235246988528836, NULL);
INSERT INTO public.varts_events VALUES (1, 10, 'reward', 1700000009000000, 'plain-9-0', 2, 1, 3.32, 3.32, NULL, 316975592402996024, NULL);
INSERT INTO public.varts_events VALUES (1, 11, 'reward', 1700000010000000, 'plain-10-0', 2, 1, 2.12, 2.12, NULL, 152153747463815830, NULL);
INSERT INTO public.varts_events VALUES (1, 12, 'reward', 1700000011000000, 'plain-11-0', 2, 1, 2.94, 2.94, NULL, 8491823712474982575, NULL);
INSERT INTO public.varts_events VALUES (1, 13, 'reward', 1700000012000000, 'plain-12-0', 2, 1, 3.76, 3.76, NULL, 2464948279520664215, NULL);
INSERT INTO public.varts_events VALUES (1, 14, 'reward', 1700000013000000, 'plain-13-0', 2, 1, 2.56, 2.56, NULL, 964019145057638426, NULL);
INSERT INTO public.varts_events VALUES (1, 15, 'reward', 1700000014000000, 'plain-14-0', 2, 1, 3.38, 3.38, NULL, 4915320426897901642, NULL);
INSERT INTO public.varts_events VALUES (1, 16, 'reward', 1700000015000000, 'plain-15-0', 2, 1, 2.18, 2.18, NULL, 1136192065652257841, NULL);
INSERT INTO public.varts_events VALUES (1, 17, 'reward', 1700000016000000, 'plain-16-0', 2, 1, 3, 3, NULL, 7396988026149931912, NULL);
INSERT INTO public.varts_events VALUES (1, 18, 'reward', 1700000017000000, 'plain-17-0', 2, 1, 3.82, 3.82, NULL, 3989731041631332297, NULL);
INSERT INTO public.varts_events VALUES (1, 19, 'reward', 1700000018000000, 'plain-18-0', 2, 1, 2.62, 2.62, NULL, 1144433550024070454, NULL);
INSERT INTO public.varts_events VALUES (1, 20, 'reward', 1700000019000000, 'plain-19-0', 2, 1, 3.44, 3.44, NULL, 3888687599903303911, NULL);
INSERT INTO public.varts_events VALUES (1, 21, 'reward', 1700000020000000, 'plain-20-0', 2, 1, 2.24, 2.24, NULL, 4432301585610701663, NULL);
INSERT INTO public.varts_events VALUES (1, 22, 'reward', 1700000021000000, 'plain-21-0', 2, 1, 3.06, 3.06, NULL, 3076689549126167031, NULL);
INSERT INTO public.varts_events VALUES (1, 23, 'reward', 1700000021000000, 'plain-21-1', 2, 1, 3.06, 3.06, NULL, 3076689549126167031, NULL);
INSERT INTO public.varts_events VALUES (1, 24, 'reward', 1700000021000000, 'plain-21-2', 1, 1, 2.06, 2.06, NULL, 3076689549126167031, NULL);
INSERT INTO public.varts_events VALUES (1, 25, 'reward', 1700000021000000, 'plain-21-3', 2, 1, 3.06, 3.06, NULL, 3076689549126167031, NULL);
INSERT INTO public.varts_events VALUES (1, 26, 'reward', 1700000021000000, 'plain-21-4', 2, 1, 3.06, 3.06, NULL, 3076689549126167031, NULL);
INSERT INTO public.varts_events VALUES (1, 27, 'reward', 1700000022000000, 'plain-22-0', 2, 1, 3.88, 3.88, NULL, 7397369421014570815, NULL);
INSERT INTO public.varts_events VALUES (1, 28, 'reward', 1700000022000000, 'plain-22-1', 2, 1, 3.88, 3.88, NULL, 7397369421014570815, NULL);
INSERT INTO public.varts_events VALUES (1, 29, 'reward', 1700000022000000, 'plain-22-2', 2, 1, 3.88, 3.88, NULL, 7397369421014570815, NULL);
INSERT INTO public.varts_events VALUES (1, 30, 'reward', 1700000022000000, 'plain-22-3', 2, 1, 3.88, 3.88, NULL, 7397369421014570815, NULL);
INSERT INTO public.varts_events VALUES (1, 31, 'reward', 1700000022000000, 'plain-22-4', 2, 1, 3.88, 3.88, NULL, 7397369421014570815, NULL);
INSERT INTO public.varts_events VALUES (1, 32, 'reward', 1700000023000000, 'plain-23-0', 2, 1, 2.68, 2.68, NULL, 7117040559006503993, NULL);
INSERT INTO public.varts_events VALUES (1, 33, 'reward', 1700000023000000, 'plain-23-1', 2, 1, 2.68, 2.68, NULL, 7117040559006503993, NULL);
INSERT INTO public.varts_events VALUES (1, 34, 'reward', 1700000023000000, 'plain-23-2', 2, 1, 2.68, 2.68, NULL, 7117040559006503993, NULL);
INSERT INTO public.varts_events VALUES (1, 35, 'reward', 1700000023000000, 'plain-23-3', 2, 1, 2.68, 2.68, NULL, 7117040559006503993, NULL);
INSERT INTO public.varts_events VALUES (1, 36, 'reward', 1700000023000000, 'plain-23-4', 2, 1, 2.68, 2.68, NULL, 7117040559006503993, NULL);
INSERT INTO public.varts_events VALUES (1, 37, 'reward', 1700000024000000, 'plain-24-0', 2, 1, 3.5, 3.5, NULL, 6586204111535415447, NULL);
INSERT INTO public.varts_events VALUES (1, 38, 'reward', 1700000024000000, 'plain-24-1', 2, 1, 3.5, 3.5, NULL, 6586204111535415447, NULL);
INSERT INTO public.varts_events VALUES (1, 39, 'reward', 1700000024000000, 'plain-24-2', 2, 1, 3.5, 3.5, NULL, 6586204111535415447, NULL);
INSERT INTO public.varts_events VALUES (1, 40, 'reward', 1700000024000000, 'plain-24-3', 2, 1, 3.5, 3.5, NULL, 6586204111535415447, NULL);
INSERT INTO public.varts_events VALUES (1, 41, 'reward', 1700000024000000, 'plain-24-4', 2, 1, 3.5, 3.5, NULL, 6586204111535415447, NULL);
INSERT INTO public.varts_events VALUES (1, 42, 'add-arm', 1700000024000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "dddd", "prior": null}', 1540419271344734275, NULL);
INSERT INTO public.varts_events VALUES (1, 43, 'reward', 1700000025000000, 'plain-25-0', 2, 1, 2.3, 2.3, NULL, 5028625167119118029, NULL);
INSERT INTO public.varts_events VALUES (1, 44, 'reward', 1700000026000000, 'plain-26-0', 2, 1, 3.12, 3.12, NULL, 472532884814292239, NULL);
INSERT INTO public.varts_events VALUES (1, 45, 'reward', 1700000027000000, 'plain-27-0', 2, 1, 3.94, 3.94, NULL, 5541556414427964095, NULL);
INSERT INTO public.varts_events VALUES (1, 46, 'reward', 1700000028000000, 'plain-28-0', 2, 1, 2.74, 2.74, NULL, 6555645434482731873, NULL);
INSERT INTO public.varts_events VALUES (1, 47, 'reward', 1700000029000000, 'plain-29-0', 2, 1, 3.56, 3.56, NULL, 3089375715854075040, NULL);
INSERT INTO public.varts_events VALUES (1, 48, 'reward', 1700000030000000, 'plain-30-0', 2, 1, 2.36, 2.36, NULL, 2326622207221935905, NULL);
INSERT INTO public.varts_events VALUES (1, 49, 'reward', 1700000031000000, 'plain-31-0', 2, 1, 3.18, 3.18, NULL, 8520049229893250972, NULL);
INSERT INTO public.varts_events VALUES (1, 50, 'reward', 1700000032000000, 'plain-32-0', 3, 1, 5, 5, NULL, 7715854985890272175, NULL);
INSERT INTO public.varts_events VALUES (1, 51, 'reward', 1700000033000000, 'plain-33-0', 2, 1, 2.8, 2.8, NULL, 4216888183757046066, NULL);
INSERT INTO public.varts_events VALUES (1, 52, 'pause-arm', 1700000034000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 1346641217736820145, NULL);
INSERT INTO public.varts_events VALUES (1, 53, 'reward', 1700000035000000, 'plain-35-0', 3, 1, 3.42, 3.42, NULL, 8301956666310614464, NULL);
INSERT INTO public.varts_events VALUES (1, 54, 'reward', 1700000036000000, 'plain-36-0', 3, 1, 4.24, 4.24, NULL, 8152103409617354855, NULL);
INSERT INTO public.varts_events VALUES (1, 55, 'reward', 1700000037000000, 'plain-37-0', 3, 1, 3.04, 3.04, NULL, 8831275686026014669, NULL);
INSERT INTO public.varts_events VALUES (1, 56, 'reward', 1700000038000000, 'plain-38-0', 3, 1, 3.86, 3.86, NULL, 3393983121195862638, NULL);
INSERT INTO public.varts_events VALUES (1, 57, 'reward', 1700000039000000, 'plain-39-0', 3, 1, 4.68, 4.68, NULL, 6191385796823555388, NULL);
INSERT INTO public.varts_events VALUES (1, 58, 'resume-arm', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 2996770355547363071, NULL);
INSERT INTO public.varts_events VALUES (1, 59, 'configure', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}}', 6533128529819672443, NULL);
INSERT INTO public.varts_events VALUES (1, 60, 'reward', 1700000040000000, 'plain-40-0', 1, 2, 1.48, 1.48, NULL, 3653979966154725389, NULL);
INSERT INTO public.varts_events VALUES (1, 61, 'reward', 1700000041000000, 'plain-41-0', 3, 2, 4.3, 4.3, NULL, 5447188518367918367, NULL);
INSERT INTO public.varts_events VALUES (1, 62, 'reward', 1700000042000000, 'plain-42-0', 3, 2, 3.1, 3.1, NULL, 2698270400300172613, NULL);
INSERT INTO public.varts_events VALUES (1, 63, 'reward', 1700000043000000, 'plain-43-0', 3, 2, 3.92, 3.92, NULL, 2807824359836443352, NULL);
INSERT INTO public.varts_events VALUES (1, 64, 'reward', 1700000044000000, 'plain-44-0', 1, 2, 2.74, 2.74, NULL, 2876922124667881490, NULL);
INSERT INTO public.varts_events VALUES (1, 65, 'reward', 1700000045000000, 'plain-45-0', 3, 2, 3.54, 3.54, NULL, 8176921399429882774, NULL);
INSERT INTO public.varts_events VALUES (1, 66, 'reward', 1700000046000000, 'plain-46-0', 2, 2, 3.36, 3.36, NULL, 6812086118474181456, NULL);
INSERT INTO public.varts_events VALUES (1, 67, 'reward', 1700000047000000, 'plain-47-0', 3, 2, 3.16, 3.16, NULL, 6553229602348690617, NULL);
INSERT INTO public.varts_events VALUES (1, 68, 'reward', 1700000048000000, 'plain-48-0', 1, 2, 1.98, 1.98, NULL, 5778955070914579193, NULL);
INSERT INTO public.varts_events VALUES (1, 69, 'reward', 1700000049000000, 'plain-49-0', 3, 2, 4.8, 4.8, NULL, 3218051682347244437, NULL);
INSERT INTO public.varts_events VALUES (2, 1, 'create', 1700000049000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0], "kappa": [2.0, 2.0], "alpha": [3.0, 3.0], "beta": [1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": 2.0, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 8191333099878821648, NULL);
INSERT INTO public.varts_events VALUES (2, 2, 'reward', 1700000050000000, 'rich-50-0', 0, 1, 0.6, 0.6, '{"held": false}', 8259642081622173035, NULL);
INSERT INTO public.varts_events VALUES (2, 3, 'reward', 1700000053000000, 'rich-53-0', 0, 1, 1.04, 1.04, '{"held": false}', 5569430745813195502, NULL);
INSERT INTO public.varts_events VALUES (2, 4, 'reward', 1700000054000000, 'rich-54-0', 0, 1, 1.86, 1.86, '{"held": false}', 615793286711320377, NULL);
INSERT INTO public.varts_events VALUES (2, 5, 'reward', 1700000055000000, 'rich-55-0', 0, 1, 0.66, 0.66, '{"held": false}', 1102648133408683635, NULL);
INSERT INTO public.varts_events VALUES (2, 6, 'missing', 1700000056000000, 'rich-51-0', 0, 1, NULL, 2, '{"held": false}', 7910616117900371724, NULL);
INSERT INTO public.varts_events VALUES (2, 7, 'reward', 1700000056000000, 'rich-56-0', 0, 1, 1.48, 1.48, '{"held": false}', 3447312055986824641, NULL);
INSERT INTO public.varts_events VALUES (2, 8, 'missing', 1700000057000000, 'rich-52-0', 0, 1, NULL, 2, '{"held": true}', 6929780801047184293, NULL);
INSERT INTO public.varts_events VALUES (2, 9, 'reward', 1700000057000000, 'rich-57-0', 0, 1, 0.28, 0.28, '{"held": true}', 5347443010263405112, NULL);
INSERT INTO public.varts_events VALUES (2, 10, 'reward', 1700000058000000, 'rich-58-0', 0, 1, 1.1, 1.1, '{"held": false}', 846221724218570235, NULL);
INSERT INTO public.varts_events VALUES (2, 11, 'reward', 1700000059000000, 'rich-59-0', 0, 1, 1.92, 1.92, '{"held": false}', 1204797103510755715, NULL);
INSERT INTO public.varts_events VALUES (2, 12, 'reward', 1700000060000000, 'rich-60-0', 0, 1, 0.72, 0.72, '{"held": false}', 8410746986838477834, NULL);
INSERT INTO public.varts_events VALUES (2, 13, 'reward', 1700000063000000, 'rich-63-0', 0, 1, 1.16, 1.16, '{"held": false}', 7157981265797492822, NULL);
INSERT INTO public.varts_events VALUES (2, 14, 'reward', 1700000064000000, 'rich-64-0', 0, 1, 1.98, 1.98, '{"held": false}', 6935537152440693946, NULL);
INSERT INTO public.varts_events VALUES (2, 15, 'reward', 1700000065000000, 'rich-65-0', 0, 1, 0.78, 0.78, '{"held": false}', 3510021219857664739, NULL);
INSERT INTO public.varts_events VALUES (2, 16, 'missing', 1700000066000000, 'rich-61-0', 0, 1, NULL, 2, '{"held": false}', 8608942583965977724, NULL);
INSERT INTO public.varts_events VALUES (2, 17, 'reward', 1700000066000000, 'rich-66-0', 0, 1, 1.6, 1.6, '{"held": false}', 7255476083607573318, NULL);
INSERT INTO public.varts_events VALUES (2, 18, 'missing', 1700000067000000, 'rich-62-0', 0, 1, NULL, 2, '{"held": true}', 3018958985292739831, NULL);
INSERT INTO public.varts_events VALUES (2, 19, 'reward', 1700000067000000, 'rich-67-0', 0, 1, 0.4, 0.4, '{"held": true}', 1813511100795354029, NULL);
INSERT INTO public.varts_events VALUES (2, 20, 'reward', 1700000068000000, 'rich-68-0', 0, 1, 1.22, 1.22, '{"held": false}', 5434637817072951737, NULL);
INSERT INTO public.varts_events VALUES (2, 21, 'reward', 1700000069000000, 'rich-69-0', 0, 1, 0.02, 0.02, '{"held": false}', 7833360524061997055, NULL);
INSERT INTO public.varts_events VALUES (2, 22, 'reward', 1700000070000000, 'rich-70-0', 0, 1, 0.84, 0.84, '{"held": false}', 4639619168110279624, NULL);
INSERT INTO public.varts_events VALUES (2, 23, 'reward', 1700000073000000, 'rich-73-0', 0, 1, 1.28, 1.28, '{"held": false}', 410166154220405084, NULL);
INSERT INTO public.varts_events VALUES (2, 24, 'reward', 1700000074000000, 'rich-74-0', 0, 1, 0.08, 0.08, '{"held": false}', 4961219512969599520, NULL);
INSERT INTO public.varts_events VALUES (2, 25, 'reward', 1700000075000000, 'rich-75-0', 0, 1, 0.9, 0.9, '{"held": false}', 3125308917037315657, NULL);
INSERT INTO public.varts_events VALUES (2, 26, 'missing', 1700000076000000, 'rich-71-0', 0, 1, NULL, 2, '{"held": false}', 4279759267686732458, NULL);
INSERT INTO public.varts_events VALUES (2, 27, 'reward', 1700000076000000, 'rich-76-0', 0, 1, 1.72, 1.72, '{"held": false}', 8168539250083606498, NULL);
INSERT INTO public.varts_events VALUES (2, 28, 'missing', 1700000077000000, 'rich-72-0', 0, 1, NULL, 2, '{"held": true}', 4661298065896539689, NULL);
INSERT INTO public.varts_events VALUES (2, 29, 'reward', 1700000077000000, 'rich-77-0', 0, 1, 0.52, 0.52, '{"held": true}', 7897356885359225117, NULL);
INSERT INTO public.varts_events VALUES (2, 30, 'reward', 1700000078000000, 'rich-78-0', 0, 1, 1.34, 1.34, '{"held": false}', 7065016096068372289, NULL);
INSERT INTO public.varts_events VALUES (2, 31, 'reward', 1700000079000000, 'rich-79-0', 0, 1, 0.14, 0.14, '{"held": false}', 2387909186249523869, NULL);
INSERT INTO public.varts_events VALUES (2, 32, 'add-arm', 1700000079000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "ccc", "prior": {"mu": 3.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}}', 7563835737502033875, NULL);
INSERT INTO public.varts_events VALUES (2, 33, 'reward', 1700000080000000, 'rich-80-0', 0, 1, 0.96, 0.96, '{"held": false}', 3908100185246794916, NULL);
INSERT INTO public.varts_events VALUES (2, 34, 'reward', 1700000081000000, 'rich-81-0', 0, 1, 1.78, 1.78, '{"held": false}', 2757534323474235738, NULL);
INSERT INTO public.varts_events VALUES (2, 35, 'reward', 1700000082000000, 'rich-82-0', 0, 1, 0.58, 0.58, '{"held": true}', 1163214342151523262, NULL);
INSERT INTO public.varts_events VALUES (2, 36, 'reward', 1700000083000000, 'rich-83-0', 0, 1, 1.4, 1.4, '{"held": false}', 5498700444814635574, NULL);
INSERT INTO public.varts_events VALUES (2, 37, 'reward', 1700000084000000, 'rich-84-0', 0, 1, 0.2, 0.2, '{"held": false}', 4483215222750008071, NULL);
INSERT INTO public.varts_events VALUES (2, 38, 'reward', 1700000085000000, 'rich-85-0', 0, 1, 1.02, 1.02, '{"held": false}', 2327241850865507031, NULL);
INSERT INTO public.varts_events VALUES (2, 39, 'reward', 1700000086000000, 'rich-86-0', 0, 1, 1.84, 1.84, '{"held": false}', 6054034172941907079, NULL);
INSERT INTO public.varts_events VALUES (2, 40, 'reward', 1700000087000000, 'rich-87-0', 0, 1, 0.64, 0.64, '{"held": true}', 924893962720255416, NULL);
INSERT INTO public.varts_events VALUES (2, 41, 'reward', 1700000088000000, 'rich-88-0', 0, 1, 1.46, 1.46, '{"held": false}', 1898943742001409235, NULL);
INSERT INTO public.varts_events VALUES (2, 42, 'reward', 1700000089000000, 'rich-89-0', 0, 1, 0.26, 0.26, '{"held": false}', 3026536977107197874, NULL);
INSERT INTO public.varts_events VALUES (2, 43, 'configure', 1700000089000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}}', 6603859976762058677, NULL);
INSERT INTO public.varts_events VALUES (2, 44, 'reward', 1700000090000000, 'rich-90-0', 0, 2, 1.08, 1.08, '{"held": false}', 6631304865471777884, NULL);
INSERT INTO public.varts_events VALUES (2, 45, 'reward', 1700000091000000, 'rich-91-0', 0, 2, 1.9, 1.9, '{"held": false}', 5236443076371400638, NULL);
INSERT INTO public.varts_events VALUES (2, 46, 'reward', 1700000092000000, 'rich-92-0', 0, 2, 0.7, 0.7, '{"held": true}', 5555342205252015060, NULL);
INSERT INTO public.varts_events VALUES (2, 47, 'reward', 1700000093000000, 'rich-93-0', 0, 2, 1.52, 1.52, '{"held": false}', 3259271914995464456, NULL);
INSERT INTO public.varts_events VALUES (2, 48, 'reward', 1700000094000000, 'rich-94-0', 0, 2, 0.32, 0.32, '{"held": false}', 1496075905162030655, NULL);
INSERT INTO public.varts_events VALUES (2, 49, 'reward', 1700000097000000, 'rich-97-0', 0, 2, 0.76, 0.76, '{"held": true}', 6840890662256603904, NULL);
INSERT INTO public.varts_events VALUES (2, 50, 'reward', 1700000098000000, 'rich-98-0', 0, 2, 1.58, 1.58, '{"held": false}', 7902587284584607247, NULL);
INSERT INTO public.varts_events VALUES (2, 51, 'reward', 1700000099000000, 'rich-99-0', 0, 2, 0.38, 0.38, '{"held": false}', 5400848239520351887, NULL);
INSERT INTO public.varts_events VALUES (2, 52, 'expired', 1700000100000000, 'rich-95-0', 0, 2, NULL, NULL, NULL, 1078039282477884613, NULL);
INSERT INTO public.varts_events VALUES (2, 53, 'reward', 1700000100000000, 'rich-100-0', 0, 2, 1.2, 1.2, '{"held": false}', 2904284702325397841, NULL);
INSERT INTO public.varts_events VALUES (2, 54, 'expired', 1700000101000000, 'rich-96-0', 0, 2, NULL, NULL, NULL, 2564826023253418682, NULL);
INSERT INTO public.varts_events VALUES (2, 55, 'reward', 1700000101000000, 'rich-101-0', 0, 2, 0, 0, '{"held": false}', 2865961703520874159, NULL);
INSERT INTO public.varts_events VALUES (2, 56, 'reward', 1700000102000000, 'rich-102-0', 0, 2, 0.82, 0.82, '{"held": true}', 2005033229785721615, NULL);
INSERT INTO public.varts_events VALUES (2, 57, 'reward', 1700000103000000, 'rich-103-0', 0, 2, 1.64, 1.64, '{"held": false}', 2230613870667483882, NULL);
INSERT INTO public.varts_events VALUES (2, 58, 'reward', 1700000104000000, 'rich-104-0', 0, 2, 0.44, 0.44, '{"held": false}', 8108927345633038752, NULL);
INSERT INTO public.varts_events VALUES (3, 1, 'create', 1700000104000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 2318972668712222101, NULL);
INSERT INTO public.varts_events VALUES (3, 2, 'reward', 1700000105000000, 'index-105-0', 0, 1, 1.26, 1.26, NULL, 3524632973699574030, NULL);
INSERT INTO public.varts_events VALUES (3, 3, 'reward', 1700000106000000, 'index-106-0', 0, 1, 0.06, 0.06, NULL, 1807870474713439391, NULL);
INSERT INTO public.varts_events VALUES (3, 4, 'reward', 1700000107000000, 'index-107-0', 0, 1, 0.88, 0.88, NULL, 6556116685814012714, NULL);
INSERT INTO public.varts_events VALUES (3, 5, 'reward', 1700000108000000, 'index-108-0', 1, 1, 2.7, 2.7, NULL, 4853947907607202715, NULL);
INSERT INTO public.varts_events VALUES (3, 6, 'reward', 1700000109000000, 'index-109-0', 1, 1, 1.5, 1.5, NULL, 2697806570462103675, NULL);
INSERT INTO public.varts_events VALUES (3, 7, 'reward', 1700000110000000, 'index-110-0', 1, 1, 2.32, 2.32, NULL, 7262177190844471807, NULL);
INSERT INTO public.varts_events VALUES (3, 8, 'reward', 1700000111000000, 'index-111-0', 1, 1, 1.12, 1.12, NULL, 1072770680987227731, NULL);
INSERT INTO public.varts_events VALUES (3, 9, 'reward', 1700000112000000, 'index-112-0', 1, 1, 1.94, 1.94, NULL, 356733701796835522, NULL);
INSERT INTO public.varts_events VALUES (3, 10, 'reward', 1700000113000000, 'index-113-0', 1, 1, 2.76, 2.76, NULL, 2696146412014444314, NULL);
INSERT INTO public.varts_events VALUES (3, 11, 'reward', 1700000114000000, 'index-114-0', 1, 1, 1.56, 1.56, NULL, 4444232275525154612, NULL);
INSERT INTO public.varts_events VALUES (3, 12, 'reward', 1700000115000000, 'index-115-0', 1, 1, 2.38, 2.38, NULL, 5549879130191852938, NULL);
INSERT INTO public.varts_events VALUES (3, 13, 'reward', 1700000116000000, 'index-116-0', 1, 1, 1.18, 1.18, NULL, 7411444205208424081, NULL);
INSERT INTO public.varts_events VALUES (3, 14, 'stop', 1700000116000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "bb"}', 8238754131344249368, NULL);
INSERT INTO public.varts_events VALUES (3, 15, 'reward', 1700000117000000, 'index-117-0', 1, 1, 2, 2, NULL, 4727128794430320327, NULL);
INSERT INTO public.varts_events VALUES (3, 16, 'reward', 1700000118000000, 'index-118-0', 1, 1, 2.82, 2.82, NULL, 327138460654114530, NULL);
INSERT INTO public.varts_events VALUES (3, 17, 'reward', 1700000119000000, 'index-119-0', 1, 1, 1.62, 1.62, NULL, 1671597880971871213, NULL);
INSERT INTO public.varts_events VALUES (4, 1, 'create', 1700000119000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 3221862757509503156, NULL);
INSERT INTO public.varts_events VALUES (4, 2, 'reward', 1700000120000000, 'asked-120-0', 1, 1, 2.44, 2.44, NULL, 894292496581021053, NULL);
INSERT INTO public.varts_events VALUES (4, 3, 'reward', 1700000121000000, 'asked-121-0', 0, 1, 0.24, 0.24, NULL, 8311403619735058005, NULL);
INSERT INTO public.varts_events VALUES (4, 4, 'reward', 1700000122000000, 'asked-122-0', 0, 1, 1.06, 1.06, NULL, 4444354021340150066, NULL);
INSERT INTO public.varts_events VALUES (4, 5, 'reward', 1700000123000000, 'asked-123-0', 0, 1, 1.88, 1.88, NULL, 3908509110000836229, NULL);
INSERT INTO public.varts_events VALUES (4, 6, 'reward', 1700000124000000, 'asked-124-0', 1, 1, 1.68, 1.68, NULL, 5323948501998036351, NULL);
INSERT INTO public.varts_events VALUES (4, 7, 'reward', 1700000125000000, 'asked-125-0', 1, 1, 2.5, 2.5, NULL, 8074612613533691516, NULL);
INSERT INTO public.varts_events VALUES (4, 8, 'reward', 1700000126000000, 'asked-126-0', 1, 1, 1.3, 1.3, NULL, 856603344919172157, NULL);
INSERT INTO public.varts_events VALUES (4, 9, 'reward', 1700000127000000, 'asked-127-0', 1, 1, 2.12, 2.12, NULL, 7199333824027835472, NULL);
INSERT INTO public.varts_events VALUES (4, 10, 'reward', 1700000128000000, 'asked-128-0', 1, 1, 2.94, 2.94, NULL, 3320906225642613537, NULL);
INSERT INTO public.varts_events VALUES (4, 11, 'reward', 1700000129000000, 'asked-129-0', 1, 1, 1.74, 1.74, NULL, 4806965398649065410, NULL);
INSERT INTO public.varts_events VALUES (4, 12, 'reward', 1700000130000000, 'asked-130-0', 1, 1, 2.56, 2.56, NULL, 2362738810619951356, NULL);
INSERT INTO public.varts_events VALUES (4, 13, 'reward', 1700000131000000, 'asked-131-0', 1, 1, 1.36, 1.36, NULL, 4150399141881248426, NULL);
INSERT INTO public.varts_events VALUES (4, 14, 'repair', 1700000131000000, NULL, NULL, NULL, NULL, NULL, '{"found": 2, "changed": ["arm 0, epoch 1: n is 4.0 in the statistics, 3.0 in the log", "arm 1, epoch 1: n is 10.0 in the statistics, 9.0 in the log"], "missing": []}', 817917626689522489, NULL);
INSERT INTO public.varts_events VALUES (4, 15, 'reward', 1700000132000000, 'asked-132-0', 1, 1, 2.18, 2.18, NULL, 4999333939675516676, NULL);
INSERT INTO public.varts_events VALUES (4, 16, 'reward', 1700000133000000, 'asked-133-0', 1, 1, 3, 3, NULL, 1200984005781940166, NULL);
INSERT INTO public.varts_events VALUES (4, 17, 'reward', 1700000134000000, 'asked-134-0', 1, 1, 1.8, 1.8, NULL, 5042725531175240989, NULL);
INSERT INTO public.varts_events VALUES (4, 18, 'reward', 1700000135000000, 'asked-135-0', 1, 1, 2.62, 2.62, NULL, 7799980822069419683, NULL);
INSERT INTO public.varts_events VALUES (4, 19, 'reward', 1700000136000000, 'asked-136-0', 1, 1, 1.42, 1.42, NULL, 1953308206769305213, NULL);
INSERT INTO public.varts_events VALUES (4, 20, 'reward', 1700000137000000, 'asked-137-0', 1, 1, 2.24, 2.24, NULL, 4242689089344792915, NULL);
INSERT INTO public.varts_events VALUES (4, 21, 'reward', 1700000138000000, 'asked-138-0', 1, 1, 1.04, 1.04, NULL, 6806562326809020677, NULL);
INSERT INTO public.varts_events VALUES (4, 22, 'reward', 1700000139000000, 'asked-139-0', 1, 1, 1.86, 1.86, NULL, 1576701032492344009, NULL);
INSERT INTO public.varts_events VALUES (4, 23, 'reward', 1700000140000000, 'asked-140-0', 1, 1, 2.68, 2.68, NULL, 7262274896488725050, NULL);
INSERT INTO public.varts_events VALUES (4, 24, 'reward', 1700000141000000, 'asked-141-0', 1, 1, 1.48, 1.48, NULL, 8221652003140013265, NULL);
INSERT INTO public.varts_events VALUES (4, 25, 'reward', 1700000142000000, 'asked-142-0', 1, 1, 2.3, 2.3, NULL, 3221109379561894555, NULL);
INSERT INTO public.varts_events VALUES (4, 26, 'reward', 1700000143000000, 'asked-143-0', 1, 1, 1.1, 1.1, NULL, 5885786006517304190, NULL);
INSERT INTO public.varts_events VALUES (5, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 3386013833340806433, NULL);
INSERT INTO public.varts_events VALUES (5, 2, 'reward', 1700000143000000, 'coin-0', 0, 1, 0, 0, NULL, 3197601119893229697, NULL);
INSERT INTO public.varts_events VALUES (5, 3, 'reward', 1700000143000000, 'coin-1', 1, 1, 0.3333333333333333, 0, NULL, 2579326042283501607, NULL);
INSERT INTO public.varts_events VALUES (5, 4, 'reward', 1700000143000000, 'coin-2', 1, 1, 0.6666666666666666, 1, NULL, 304761510075590090, NULL);
INSERT INTO public.varts_events VALUES (5, 5, 'reward', 1700000143000000, 'coin-3', 1, 1, 1, 1, NULL, 4990666039540645160, NULL);
INSERT INTO public.varts_events VALUES (5, 6, 'reward', 1700000143000000, 'coin-4', 1, 1, 0, 0, NULL, 6141684204622417641, NULL);
INSERT INTO public.varts_events VALUES (5, 7, 'reward', 1700000143000000, 'coin-5', 0, 1, 0.3333333333333333, 1, NULL, 1317615184270764793, NULL);
INSERT INTO public.varts_events VALUES (5, 8, 'reward', 1700000143000000, 'coin-6', 0, 1, 0.6666666666666666, 1, NULL, 8100875096255060965, NULL);
INSERT INTO public.varts_events VALUES (5, 9, 'reward', 1700000143000000, 'coin-7', 0, 1, 1, 1, NULL, 2924442017515914284, NULL);
INSERT INTO public.varts_events VALUES (5, 10, 'reward', 1700000143000000, 'coin-8', 0, 1, 0, 0, NULL, 4840080466189307411, NULL);
INSERT INTO public.varts_events VALUES (5, 11, 'reward', 1700000143000000, 'coin-9', 0, 1, 0.3333333333333333, 0, NULL, 7008457398483066695, NULL);
INSERT INTO public.varts_events VALUES (5, 12, 'reward', 1700000143000000, 'coin-10', 1, 1, 0.6666666666666666, 0, NULL, 424652513546781661, NULL);
INSERT INTO public.varts_events VALUES (5, 13, 'reward', 1700000143000000, 'coin-11', 0, 1, 1, 1, NULL, 1635494041717202191, NULL);
INSERT INTO public.varts_events VALUES (5, 14, 'stop', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"winner": null}', 8043284056464832752, NULL);
INSERT INTO public.varts_events VALUES (6, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 30.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 8091189466300734333, NULL);
INSERT INTO public.varts_events VALUES (6, 2, 'reward', 1700000144000000, 'fixed-144-0', 1, 1, 1.92, 1.92, '{"held": false}', 3324603715940851174, NULL);
INSERT INTO public.varts_events VALUES (6, 3, 'reward', 1700000145000000, 'fixed-145-0', 0, 1, 1.74, 1.74, '{"held": false}', 3319089862662509220, NULL);
INSERT INTO public.varts_events VALUES (6, 4, 'reward', 1700000146000000, 'fixed-146-0', 1, 1, 1.54, 1.54, '{"held": false}', 1158097887535453469, NULL);
INSERT INTO public.varts_events VALUES (6, 5, 'reward', 1700000147000000, 'fixed-147-0', 0, 1, 1.36, 1.36, '{"held": false}', 4877393330580017672, NULL);
INSERT INTO public.varts_events VALUES (6, 6, 'reward', 1700000148000000, 'fixed-148-0', 1, 1, 1.16, 1.16, '{"held": false}', 6073262191819797574, NULL);
INSERT INTO public.varts_events VALUES (6, 7, 'reward', 1700000149000000, 'fixed-149-0', 0, 1, 0.98, 0.98, '{"held": true}', 4733608380277451854, NULL);
INSERT INTO public.varts_events VALUES (6, 8, 'reward', 1700000150000000, 'fixed-150-0', 1, 1, 2.8, 2.8, '{"held": false}', 1613256239504581140, NULL);
INSERT INTO public.varts_events VALUES (6, 9, 'reward', 1700000151000000, 'fixed-151-0', 1, 1, 1.6, 1.6, '{"held": false}', 5546152772522209922, NULL);
INSERT INTO public.varts_events VALUES (6, 10, 'reward', 1700000152000000, 'fixed-152-0', 1, 1, 2.42, 2.42, '{"held": false}', 4382193548420683424, NULL);
INSERT INTO public.varts_events VALUES (6, 11, 'reward', 1700000153000000, 'fixed-153-0', 0, 1, 0.22, 0.22, '{"held": false}', 8368567515958704864, NULL);
INSERT INTO public.varts_events VALUES (6, 12, 'reward', 1700000154000000, 'fixed-154-0', 1, 1, 2.04, 2.04, '{"held": true}', 1421957286148835464, NULL);
INSERT INTO public.varts_events VALUES (6, 13, 'reward', 1700000155000000, 'fixed-155-0', 1, 1, 2.86, 2.86, '{"held": false}', 6160401452982095154, NULL);
INSERT INTO public.varts_events VALUES (6, 14, 'reward', 1700000156000000, 'fixed-156-0', 1, 1, 1.66, 1.66, '{"held": false}', 8731641328297574174, NULL);
INSERT INTO public.varts_events VALUES (6, 15, 'reward', 1700000157000000, 'fixed-157-0', 1, 1, 2.48, 2.48, '{"held": false}', 8579816886980553666, NULL);
INSERT INTO public.varts_events VALUES (6, 16, 'reward', 1700000158000000, 'fixed-158-0', 1, 1, 1.28, 1.28, '{"held": false}', 42713642292392240, NULL);
INSERT INTO public.varts_events VALUES (6, 17, 'reward', 1700000159000000, 'fixed-159-0', 1, 1, 2.1, 2.1, '{"held": false}', 9088789186002583841, NULL);
INSERT INTO public.varts_events VALUES (6, 18, 'reward', 1700000160000000, 'fixed-160-0', 1, 1, 2.92, 2.92, '{"held": false}', 4861316535017846895, NULL);
INSERT INTO public.varts_events VALUES (6, 19, 'reward', 1700000161000000, 'fixed-161-0', 1, 1, 1.72, 1.72, '{"held": false}', 4659430572822450664, NULL);
INSERT INTO public.varts_events VALUES (6, 20, 'reward', 1700000162000000, 'fixed-162-0', 0, 1, 1.54, 1.54, '{"held": true}', 407469357860925723, NULL);
INSERT INTO public.varts_events VALUES (6, 21, 'reward', 1700000163000000, 'fixed-163-0', 1, 1, 1.34, 1.34, '{"held": false}', 7245789680275006500, NULL);
INSERT INTO public.varts_events VALUES (6, 22, 'reward', 1700000163000000, '0660787d8fbe9ce00ac1c265f66b', 1, 1, 2, 2, '{"held": false, "metrics": {"refund": 0.0}}', 6784071717212247352, NULL);
INSERT INTO public.varts_events VALUES (6, 23, 'reward', 1700000163000000, '0660787d8fbe9c34171f52919cdb', 1, 1, 2000000000, 2000000000, '{"held": false, "metrics": {"refund": 1.0}}', 8964717403463288709, NULL);
INSERT INTO public.varts_events VALUES (6, 24, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.5, '{"before": 2000000000.0, "by": "ops", "why": "typed wrong", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 1.0}, "number": 22}', 5411799164722586016, '0660787d8fbe9c34171f52919cdb');
INSERT INTO public.varts_events VALUES (6, 25, 'void', 1700000163000000, NULL, 1, 1, NULL, NULL, '{"before": 2.0, "why": "our own test", "held": false, "metrics_before": {"refund": 0.0}, "number": 21}', 6428106550497741882, '0660787d8fbe9ce00ac1c265f66b');
INSERT INTO public.varts_events VALUES (6, 26, 'reward', 1700000163000000, '0660787d8fbe9c7255cdbcf21d80', 1, 1, 3, 3, '{"key": "order 1", "part": 3.0, "held": false}', 3681569668140193866, NULL);
INSERT INTO public.varts_events VALUES (6, 27, 'part', 1700000163000000, NULL, 1, 1, 0, 0, '{"before": 3.0, "key": "refund of order 1", "part": -3.0, "part_metrics": {"refund": 1.0}, "held": false, "metrics": {"refund": 1.0}, "number": 23}', 8295085517933016194, '0660787d8fbe9c7255cdbcf21d80');
INSERT INTO public.varts_events VALUES (6, 28, 'configure', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "by": "ops"}', 7255501224333234751, NULL);
INSERT INTO public.varts_events VALUES (6, 29, 'amend', 1700000163000000, NULL, 1, 1, 2.8, 2.25, '{"before": 2.8, "by": "ops", "held": false}', 7255501224333234751, 'fixed-150-0');
INSERT INTO public.varts_events VALUES (6, 30, 'amend', 1700000163000000, NULL, 1, 1, 2.42, 2.25, '{"before": 2.42, "by": "ops", "held": false}', 7255501224333234751, 'fixed-152-0');
INSERT INTO public.varts_events VALUES (6, 31, 'amend', 1700000163000000, NULL, 1, 1, 2.86, 2.25, '{"before": 2.86, "by": "ops", "held": false}', 7255501224333234751, 'fixed-155-0');
INSERT INTO public.varts_events VALUES (6, 32, 'amend', 1700000163000000, NULL, 1, 1, 2.48, 2.25, '{"before": 2.48, "by": "ops", "held": false}', 7255501224333234751, 'fixed-157-0');
INSERT INTO public.varts_events VALUES (6, 33, 'amend', 1700000163000000, NULL, 1, 1, 2.92, 2.25, '{"before": 2.92, "by": "ops", "held": false}', 7255501224333234751, 'fixed-160-0');
INSERT INTO public.varts_events VALUES (6, 34, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.25, '{"before": 2.5, "by": "ops", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 0.0}}', 7255501224333234751, '0660787d8fbe9c34171f52919cdb');
INSERT INTO public.varts_events VALUES (6, 35, 'forget', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"alias": "forgotten:111950f0c7b6c2f271da85379b4b1522", "decisions": 1}', 4521716104060024066, NULL);
INSERT INTO public.varts_events VALUES (6, 36, 'stop', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "a"}', 1202758054167009651, NULL);
INSERT INTO public.varts_events VALUES (6, 37, 'reward', 1700000164000000, 'fixed-164-0', 0, 2, 1.16, 1.16, NULL, 1507012368645993763, NULL);
INSERT INTO public.varts_events VALUES (6, 38, 'reward', 1700000165000000, 'fixed-165-0', 0, 2, 1.98, 1.98, NULL, 3102914448636281680, NULL);
INSERT INTO public.varts_events VALUES (6, 39, 'reward', 1700000166000000, 'fixed-166-0', 0, 2, 0.78, 0.78, NULL, 9134496624557571687, NULL);
INSERT INTO public.varts_events VALUES (6, 40, 'restart', 1700000166000000, NULL, NULL, NULL, NULL, NULL, '{"why": "a new season"}', 5867355969327013144, NULL);
INSERT INTO public.varts_events VALUES (6, 41, 'reward', 1700000167000000, 'fixed-167-0', 1, 2, 2.6, 2.25, '{"held": false}', 4716772664258175030, NULL);
INSERT INTO public.varts_events VALUES (6, 42, 'reward', 1700000168000000, 'fixed-168-0', 1, 2, 1.4, 1.4, '{"held": true}', 6732688682983768076, NULL);
INSERT INTO public.varts_events VALUES (6, 43, 'reward', 1700000169000000, 'fixed-169-0', 0, 2, 1.22, 1.22, '{"held": true}', 2274026293393392471, NULL);
INSERT INTO public.varts_events VALUES (6, 44, 'reward', 1700000170000000, 'fixed-170-0', 1, 2, 1.02, 1.02, '{"held": false}', 7153080219864008158, NULL);
INSERT INTO public.varts_events VALUES (6, 45, 'reward', 1700000171000000, 'fixed-171-0', 1, 2, 1.84, 1.84, '{"held": false}', 3052603687166566107, NULL);
INSERT INTO public.varts_experiments VALUES (1, 'plain', 714703234932972468, 1794920476301706, 69, 59, 64, 0, '{"arms": ["a", "bb", "ccc", "dddd"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 3, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (2, 'rich', 807597630631959406, 1794920477120407, 58, 43, 53, 1700000103000000, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (3, 'index', 7038635141271633071, 1794920478303799, 17, 14, 15, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": 1, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (4, 'asked', 574015848183708581, 1794920478515480, 26, 14, 24, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (5, 'coin', 5287839025514949528, 1794920478890195, 14, 14, 12, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (6, 'fixed', 1043576516469484646, 1794920479003374, 45, 40, 31, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_schema VALUES ('0004');
INSERT INTO public.varts_statistics VALUES (1, '', 0, 1, 2, 2, 0.82, 1.3447999999999998, 0, 0.9042435199999997, 0.06, 7, 8);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 1, 3, 3, 0.2266666666666667, 0.23386666666666675, 0.044577777777777806, 0.027346808888888904, 1.44, 23, 26);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 1, 43, 43, 0.308372093023256, 11.771386046511624, -0.7486546500811251, 6.338631258418001, 2.82, 49, 51);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 1, 6, 6, -0.9600000000000001, 2.7880000000000003, -0.08927999999999991, 2.16753184, 5, 54, 57);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 2, 1, 1, 0, 0, 0, 0, 3.36, 61, 66);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 2, 3, 3, 0.5866666666666668, 0.8050666666666669, 0.1027057777777779, 0.3240661688888891, 1.48, 63, 68);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 2, 6, 6, -0.4966666666666666, 2.2315333333333323, 0.48169244444444437, 1.468577944444443, 4.3, 64, 69);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 1, 40, 22.01759165491238, 0.4983234592621836, 8.975458365022948, -0.3148371394962563, 6.260185844909247, 0.6, 40, 42);
INSERT INTO public.varts_statistics VALUES (2, 'in the holdout', 0, 0, 11, 11, -1.0272727272727273, 4.586618181818182, 2.508251900826447, 3.7649555493313303, 2, 51, 56);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 2, 13, 10.648285252053515, -0.1508801037134056, 3.4332141334027386, 0.20273119936535122, 2.005968109434243, 1.08, 53, 58);
INSERT INTO public.varts_statistics VALUES (2, 'not in the holdout', 0, 0, 42, 42, 0.529047619047619, 16.128161904761903, -2.779947501133786, 11.825173731460964, 0.6, 53, 58);
INSERT INTO public.varts_statistics VALUES (3, '', 0, 1, 3, 3, -0.5266666666666666, 0.7522666666666666, -0.15603377777777777, 0.28295256888888887, 1.26, 3, 4);
INSERT INTO public.varts_statistics VALUES (3, '', 1, 1, 12, 12, -0.7083333333333336, 4.0243666666666655, 0.023488111111110932, 2.2289490997222217, 2.7, 15, 17);
INSERT INTO public.varts_statistics VALUES (4, '', 0, 1, 3, 3, 0.8200000000000001, 1.3447999999999998, 0, 0.90424352, 0.24, 4, 14);
INSERT INTO public.varts_statistics VALUES (4, '', 1, 1, 21, 21, -0.42285714285714276, 7.143428571428572, -0.1656421224489793, 4.468727143556851, 2.44, 24, 26);
INSERT INTO public.varts_statistics VALUES (5, '', 1, 1, 5, 5, 0.4, 1.2, 0.24000000000000007, 0.336, 0, 11, 12);
INSERT INTO public.varts_statistics VALUES (5, '', 0, 1, 7, 7, 0.5714285714285714, 1.7142857142857144, -0.24489795918367338, 0.4548104956268222, 0, 12, 13);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 0, 0, 3, 3, -0.6333333333333333, 1.2514666666666667, -0.4267822222222224, 0.783084408888889, 1.74, 10, 11);
INSERT INTO public.varts_statistics VALUES (6, 'refund', 1, 0, 2, 2, 0.5, 0.5, 0, 0.125, 0, 22, 27);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 1, 5, 3.587703598677842, -0.5758814569738344, 1.0406823355178083, -0.4565930786774851, 0.6760108898321038, 1.74, 23, 34);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 1, 17, 13.505855723279122, -0.18511679018941835, 5.078317184075136, -4.759777989652853, 9.554400912668694, 1.92, 23, 34);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 1, 0, 2, 2, -0.32000000000000006, 0.2048000000000001, 0, 0.020971520000000018, 2.04, 28, 42);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 2, 4, 4, 0.12500000000000006, 0.7579, 0.204687, 0.2986128925, 1.16, 29, 43);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 0, 0, 3, 3, 0.26666666666666666, 0.15786666666666668, 0.006257777777777783, 0.012460942222222226, 0.98, 29, 43);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 2, 4, 4, -0.6225, 0.8534750000000001, 0.014842125000000012, 0.29108140578124997, 2.25, 31, 45);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 1, 0, 19, 19, -0.18684210526315784, 6.312210526315787, -4.897366487534628, 9.976368866021282, 1.92, 31, 45);
INSERT INTO public.varts_traffic VALUES (3, 1, 10, 12, 0);
INSERT INTO public.varts_traffic VALUES (3, 1, 0, 0, 12);
INSERT INTO public.varts_traffic VALUES (1, 0, 10, 2, 0);
INSERT INTO public.varts_traffic VALUES (1, 0, 0, 0, 2);
INSERT INTO public.varts_traffic VALUES (4, 0, 0, 3, 3);
INSERT INTO public.varts_traffic VALUES (6, 0, 10, 9, 0);
INSERT INTO public.varts_traffic VALUES (6, 0, 0, 0, 9);
INSERT INTO public.varts_traffic VALUES (6, 1, 10, 22, 0);
INSERT INTO public.varts_traffic VALUES (6, 1, 0, 0, 22);
INSERT INTO public.varts_traffic VALUES (4, 1, 10, 12, 0);
INSERT INTO public.varts_traffic VALUES (4, 1, 0, 9, 21);
INSERT INTO public.varts_traffic VALUES (5, 1, 10, 5, 0);
INSERT INTO public.varts_traffic VALUES (5, 1, 0, 0, 5);
INSERT INTO public.varts_traffic VALUES (5, 0, 10, 7, 0);
INSERT INTO public.varts_traffic VALUES (5, 0, 0, 0, 7);
INSERT INTO public.varts_traffic VALUES (1, 2, 10, 44, 0);
INSERT INTO public.varts_traffic VALUES (1, 2, 0, 0, 44);
INSERT INTO public.varts_traffic VALUES (1, 1, 10, 6, 0);
INSERT INTO public.varts_traffic VALUES (1, 1, 0, 0, 6);
INSERT INTO public.varts_traffic VALUES (1, 3, 10, 13, 0);
INSERT INTO public.varts_traffic VALUES (1, 3, 0, 0, 12);
INSERT INTO public.varts_traffic VALUES (2, 0, 10, 55, 0);
INSERT INTO public.varts_traffic VALUES (2, 0, 0, 0, 55);
INSERT INTO public.varts_traffic VALUES (3, 0, 10, 3, 0);
INSERT INTO public.varts_traffic VALUES (3, 0, 0, 0, 3);
INSERT INTO public.varts_units VALUES (2, '0fc904a87253ff072bf08f7c132e5517', 0, 0.9288971470990565, false, 'rich-50-0');
INSERT INTO public.varts_units VALUES (2, 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 0, 0.965495973928485, false, 'rich-51-0');
INSERT INTO public.varts_units VALUES (2, '997853c5e724f7c36107dbe21fee62a8', 0, 0.5, false, 'rich-52-0');
INSERT INTO public.varts_units VALUES (2, '82047323da3d13321d455f28cc22f9a7', 0, 0.965495973928485, false, 'rich-53-0');
INSERT INTO public.varts_units VALUES (2, 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 0, 0.9688053036077952, false, 'rich-54-0');
SELECT pg_catalog.setval('public.varts_decisions_seq_seq', 202, true);
SELECT pg_catalog.setval('public.varts_experiments_id_seq', 6, true);
ALTER TABLE ONLY public.varts_decisions
    ADD CONSTRAINT varts_decisions_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.varts_events
    ADD CONSTRAINT varts_events_pkey PRIMARY KEY (experiment, version);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_name_key UNIQUE (name);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.varts_schema
    ADD CONSTRAINT varts_schema_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.varts_statistics
    ADD CONSTRAINT varts_statistics_pkey PRIMARY KEY (experiment, metric, arm, epoch);
ALTER TABLE ONLY public.varts_traffic
    ADD CONSTRAINT varts_traffic_pkey PRIMARY KEY (experiment, arm, slot);
ALTER TABLE ONLY public.varts_units
    ADD CONSTRAINT varts_units_pkey PRIMARY KEY (experiment, unit);
CREATE UNIQUE INDEX varts_decisions_id ON public.varts_decisions USING btree (experiment, id);
CREATE INDEX varts_decisions_time ON public.varts_decisions USING btree (experiment, "time");
CREATE INDEX varts_events_corrects ON public.varts_events USING btree (experiment, corrects) WHERE (corrects IS NOT NULL);
CREATE UNIQUE INDEX varts_events_decision ON public.varts_events USING btree (experiment, decision);
CREATE INDEX varts_statistics_version ON public.varts_statistics USING btree (experiment, version);
