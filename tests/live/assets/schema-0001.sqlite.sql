BEGIN TRANSACTION;
CREATE TABLE varts_decisions (
	seq INTEGER NOT NULL, 
	experiment INTEGER NOT NULL, 
	id VARCHAR NOT NULL, 
	version BIGINT NOT NULL, 
	epoch INTEGER NOT NULL, 
	arm INTEGER NOT NULL, 
	probability DOUBLE NOT NULL, 
	estimated BOOLEAN NOT NULL, 
	reason VARCHAR NOT NULL, 
	unit VARCHAR, 
	time BIGINT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "varts_decisions" VALUES(1,1,'plain-1-0',1,1,2,3.33333333333333314829e-01,0,'forced','unit-1',1700000000000000);
INSERT INTO "varts_decisions" VALUES(2,1,'plain-2-0',2,1,2,3.33333333333333314829e-01,0,'forced','unit-2',1700000001000000);
INSERT INTO "varts_decisions" VALUES(3,1,'plain-3-0',3,1,2,3.3333333333333337034e-01,0,'policy',NULL,1700000002000000);
INSERT INTO "varts_decisions" VALUES(4,1,'plain-4-0',4,1,0,3.33333333333333314829e-01,0,'forced','unit-4',1700000003000000);
INSERT INTO "varts_decisions" VALUES(5,1,'plain-5-0',5,1,1,3.33333333333333314829e-01,0,'forced','unit-0',1700000004000000);
INSERT INTO "varts_decisions" VALUES(6,1,'plain-6-0',6,1,2,3.3333333333333337034e-01,0,'policy',NULL,1700000005000000);
INSERT INTO "varts_decisions" VALUES(7,1,'plain-7-0',7,1,0,3.33333333333333314829e-01,0,'forced','unit-2',1700000006000000);
INSERT INTO "varts_decisions" VALUES(8,1,'plain-8-0',8,1,2,6.3173684246204708792e-01,0,'policy','unit-3',1700000007000000);
INSERT INTO "varts_decisions" VALUES(9,1,'plain-9-0',9,1,1,3.33333333333333314829e-01,0,'forced',NULL,1700000008000000);
INSERT INTO "varts_decisions" VALUES(10,1,'plain-10-0',10,1,2,8.79798503861949687809e-01,0,'policy','unit-0',1700000009000000);
INSERT INTO "varts_decisions" VALUES(11,1,'plain-11-0',11,1,2,8.64427017957463350583e-01,0,'policy','unit-1',1700000010000000);
INSERT INTO "varts_decisions" VALUES(12,1,'plain-12-0',12,1,2,8.7320595232117181883e-01,0,'policy',NULL,1700000011000000);
INSERT INTO "varts_decisions" VALUES(13,1,'plain-13-0',13,1,2,8.79105083834737066617e-01,0,'policy','unit-3',1700000012000000);
INSERT INTO "varts_decisions" VALUES(14,1,'plain-14-0',14,1,2,0.877125368308813,0,'policy','unit-4',1700000013000000);
INSERT INTO "varts_decisions" VALUES(15,1,'plain-15-0',15,1,2,8.81662290978081242265e-01,0,'policy',NULL,1700000014000000);
INSERT INTO "varts_decisions" VALUES(16,1,'plain-16-0',16,1,2,8.73046299919455814908e-01,0,'policy','unit-1',1700000015000000);
INSERT INTO "varts_decisions" VALUES(17,1,'plain-17-0',17,1,2,0.87537740783403,0,'policy','unit-2',1700000016000000);
INSERT INTO "varts_decisions" VALUES(18,1,'plain-18-0',18,1,2,8.77761541622928298522e-01,0,'policy',NULL,1700000017000000);
INSERT INTO "varts_decisions" VALUES(19,1,'plain-19-0',19,1,2,8.76138959876273104576e-01,0,'policy','unit-4',1700000018000000);
INSERT INTO "varts_decisions" VALUES(20,1,'plain-20-0',20,1,1,7.66600125133004156596e-02,0,'policy','unit-0',1700000019000000);
INSERT INTO "varts_decisions" VALUES(21,1,'plain-21-0',21,1,0,0.0433396454305951,0,'policy',NULL,1700000020000000);
INSERT INTO "varts_decisions" VALUES(22,1,'plain-21-1',21,1,2,0.932820987110496,0,'policy',NULL,1700000020000000);
INSERT INTO "varts_decisions" VALUES(23,1,'plain-21-2',21,1,2,0.932820987110496,0,'policy',NULL,1700000020000000);
INSERT INTO "varts_decisions" VALUES(24,1,'plain-21-3',21,1,2,0.932820987110496,0,'policy',NULL,1700000020000000);
INSERT INTO "varts_decisions" VALUES(25,1,'plain-21-4',21,1,2,0.932820987110496,0,'policy',NULL,1700000020000000);
INSERT INTO "varts_decisions" VALUES(26,1,'plain-22-0',26,1,2,9.65914300831459460283e-01,0,'policy','unit-2',1700000021000000);
INSERT INTO "varts_decisions" VALUES(27,1,'plain-22-1',26,1,2,9.65914300831459460283e-01,0,'policy','unit-3',1700000021000000);
INSERT INTO "varts_decisions" VALUES(28,1,'plain-22-2',26,1,2,9.65914300831459460283e-01,0,'policy','unit-4',1700000021000000);
INSERT INTO "varts_decisions" VALUES(29,1,'plain-22-3',26,1,2,9.65914300831459460283e-01,0,'policy','unit-0',1700000021000000);
INSERT INTO "varts_decisions" VALUES(30,1,'plain-22-4',26,1,2,9.65914300831459460283e-01,0,'policy','unit-1',1700000021000000);
INSERT INTO "varts_decisions" VALUES(31,1,'plain-23-0',31,1,2,9.6711539673978508258e-01,0,'policy','unit-3',1700000022000000);
INSERT INTO "varts_decisions" VALUES(32,1,'plain-23-1',31,1,2,9.6711539673978508258e-01,0,'policy','unit-4',1700000022000000);
INSERT INTO "varts_decisions" VALUES(33,1,'plain-23-2',31,1,2,9.6711539673978508258e-01,0,'policy','unit-0',1700000022000000);
INSERT INTO "varts_decisions" VALUES(34,1,'plain-23-3',31,1,2,9.6711539673978508258e-01,0,'policy','unit-1',1700000022000000);
INSERT INTO "varts_decisions" VALUES(35,1,'plain-23-4',31,1,2,9.6711539673978508258e-01,0,'policy','unit-2',1700000022000000);
INSERT INTO "varts_decisions" VALUES(36,1,'plain-24-0',36,1,2,9.64422200750591929185e-01,0,'policy',NULL,1700000023000000);
INSERT INTO "varts_decisions" VALUES(37,1,'plain-24-1',36,1,2,9.64422200750591929185e-01,0,'policy',NULL,1700000023000000);
INSERT INTO "varts_decisions" VALUES(38,1,'plain-24-2',36,1,0,1.30911500940729830927e-02,0,'policy',NULL,1700000023000000);
INSERT INTO "varts_decisions" VALUES(39,1,'plain-24-3',36,1,2,9.64422200750591929185e-01,0,'policy',NULL,1700000023000000);
INSERT INTO "varts_decisions" VALUES(40,1,'plain-24-4',36,1,2,9.64422200750591929185e-01,0,'policy',NULL,1700000023000000);
INSERT INTO "varts_decisions" VALUES(41,1,'plain-25-0',42,1,2,7.31661106862051324739e-01,0,'policy','unit-0',1700000024000000);
INSERT INTO "varts_decisions" VALUES(42,1,'plain-26-0',43,1,3,0.25,0,'forced','unit-1',1700000025000000);
INSERT INTO "varts_decisions" VALUES(43,1,'plain-27-0',44,1,2,7.31085789817621289898e-01,0,'policy',NULL,1700000026000000);
INSERT INTO "varts_decisions" VALUES(44,1,'plain-28-0',45,1,2,7.31212055819401296474e-01,0,'policy','unit-3',1700000027000000);
INSERT INTO "varts_decisions" VALUES(45,1,'plain-29-0',46,1,2,7.31002165669546344339e-01,0,'policy','unit-4',1700000028000000);
INSERT INTO "varts_decisions" VALUES(46,1,'plain-30-0',47,1,2,7.3110761873149310297e-01,0,'policy',NULL,1700000029000000);
INSERT INTO "varts_decisions" VALUES(47,1,'plain-31-0',48,1,2,7.30643243571269307423e-01,0,'policy','unit-1',1700000030000000);
INSERT INTO "varts_decisions" VALUES(48,1,'plain-32-0',49,1,2,7.3066167097060652491e-01,0,'policy','unit-2',1700000031000000);
INSERT INTO "varts_decisions" VALUES(49,1,'plain-33-0',50,1,3,0.25,0,'forced',NULL,1700000032000000);
INSERT INTO "varts_decisions" VALUES(50,1,'plain-34-0',51,1,3,8.3377449763915212344e-01,0,'policy','unit-4',1700000033000000);
INSERT INTO "varts_decisions" VALUES(51,1,'plain-35-0',52,1,3,8.7638896885592176833e-01,0,'policy','unit-0',1700000034000000);
INSERT INTO "varts_decisions" VALUES(52,1,'plain-36-0',53,1,3,9.11147079728187314628e-01,0,'policy',NULL,1700000035000000);
INSERT INTO "varts_decisions" VALUES(53,1,'plain-37-0',54,1,3,9.62377151889869497658e-01,0,'policy','unit-2',1700000036000000);
INSERT INTO "varts_decisions" VALUES(54,1,'plain-38-0',55,1,3,9.47983314263566523294e-01,0,'policy','unit-3',1700000037000000);
INSERT INTO "varts_decisions" VALUES(55,1,'plain-39-0',56,1,3,9.70955160190430488498e-01,0,'policy',NULL,1700000038000000);
INSERT INTO "varts_decisions" VALUES(56,1,'plain-40-0',59,2,3,0.687432908778881,0,'policy','unit-0',1700000039000000);
INSERT INTO "varts_decisions" VALUES(57,1,'plain-41-0',60,2,3,6.89159078282262305137e-01,0,'policy','unit-1',1700000040000000);
INSERT INTO "varts_decisions" VALUES(58,1,'plain-42-0',61,2,3,6.92614806705493912808e-01,0,'policy',NULL,1700000041000000);
INSERT INTO "varts_decisions" VALUES(59,1,'plain-43-0',62,2,3,6.91317989859041803768e-01,0,'policy','unit-3',1700000042000000);
INSERT INTO "varts_decisions" VALUES(60,1,'plain-44-0',63,2,3,0.692818746318751,0,'policy','unit-4',1700000043000000);
INSERT INTO "varts_decisions" VALUES(61,1,'plain-45-0',64,2,3,6.93977253241303881914e-01,0,'policy',NULL,1700000044000000);
INSERT INTO "varts_decisions" VALUES(62,1,'plain-46-0',65,2,3,6.93938805400183711391e-01,0,'policy','unit-1',1700000045000000);
INSERT INTO "varts_decisions" VALUES(63,1,'plain-47-0',66,2,3,6.94363879885919188517e-01,0,'policy','unit-2',1700000046000000);
INSERT INTO "varts_decisions" VALUES(64,1,'plain-48-0',67,2,3,6.93907585831256779052e-01,0,'floor',NULL,1700000047000000);
INSERT INTO "varts_decisions" VALUES(65,1,'plain-49-0',68,2,3,6.94039577966043652601e-01,0,'policy','unit-4',1700000048000000);
INSERT INTO "varts_decisions" VALUES(66,2,'rich-50-0',1,1,0,9.28897147099056463837e-01,0,'policy','759edc4805783ace4cfab1ae79062e90',1700000049000000);
INSERT INTO "varts_decisions" VALUES(67,2,'rich-51-0',2,1,1,0.5,0,'holdout',NULL,1700000050000000);
INSERT INTO "varts_decisions" VALUES(68,2,'rich-52-0',2,1,0,0.965495973928485,0,'policy','b24a3f194fdef3b40520f19814873a88',1700000051000000);
INSERT INTO "varts_decisions" VALUES(69,2,'rich-53-0',2,1,0,0.965495973928485,0,'policy','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000052000000);
INSERT INTO "varts_decisions" VALUES(70,2,'rich-54-0',3,1,0,9.68805303607795154086e-01,0,'policy',NULL,1700000053000000);
INSERT INTO "varts_decisions" VALUES(71,2,'rich-55-0',4,1,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000054000000);
INSERT INTO "varts_decisions" VALUES(72,2,'rich-56-0',5,1,0,9.6016435692621615594e-01,0,'policy','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000055000000);
INSERT INTO "varts_decisions" VALUES(73,2,'rich-57-0',7,1,0,9.78694785278195644728e-01,0,'policy',NULL,1700000056000000);
INSERT INTO "varts_decisions" VALUES(74,2,'rich-58-0',9,1,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000057000000);
INSERT INTO "varts_decisions" VALUES(75,2,'rich-59-0',10,1,1,0.5,0,'holdout','2cf26ffca679f77315b2ae06d5c7b1ea',1700000058000000);
INSERT INTO "varts_decisions" VALUES(76,2,'rich-60-0',11,1,0,9.94451671353640653805e-01,0,'policy',NULL,1700000059000000);
INSERT INTO "varts_decisions" VALUES(77,2,'rich-61-0',12,1,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000060000000);
INSERT INTO "varts_decisions" VALUES(78,2,'rich-62-0',12,1,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000061000000);
INSERT INTO "varts_decisions" VALUES(79,2,'rich-63-0',12,1,0,9.95692066507142703457e-01,0,'policy',NULL,1700000062000000);
INSERT INTO "varts_decisions" VALUES(80,2,'rich-64-0',13,1,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000063000000);
INSERT INTO "varts_decisions" VALUES(81,2,'rich-65-0',14,1,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000064000000);
INSERT INTO "varts_decisions" VALUES(82,2,'rich-66-0',15,1,0,9.98995807495324239511e-01,0,'policy',NULL,1700000065000000);
INSERT INTO "varts_decisions" VALUES(83,2,'rich-67-0',17,1,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000066000000);
INSERT INTO "varts_decisions" VALUES(84,2,'rich-68-0',19,1,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000067000000);
INSERT INTO "varts_decisions" VALUES(85,2,'rich-69-0',20,1,0,9.96765090906613693277e-01,0,'policy',NULL,1700000068000000);
INSERT INTO "varts_decisions" VALUES(86,2,'rich-70-0',21,1,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000069000000);
INSERT INTO "varts_decisions" VALUES(87,2,'rich-71-0',22,1,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000070000000);
INSERT INTO "varts_decisions" VALUES(88,2,'rich-72-0',22,1,0,9.97740562106923301044e-01,0,'policy',NULL,1700000071000000);
INSERT INTO "varts_decisions" VALUES(89,2,'rich-73-0',22,1,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000072000000);
INSERT INTO "varts_decisions" VALUES(90,2,'rich-74-0',23,1,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000073000000);
INSERT INTO "varts_decisions" VALUES(91,2,'rich-75-0',24,1,0,9.91182972224561198437e-01,0,'policy',NULL,1700000074000000);
INSERT INTO "varts_decisions" VALUES(92,2,'rich-76-0',25,1,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000075000000);
INSERT INTO "varts_decisions" VALUES(93,2,'rich-77-0',27,1,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000076000000);
INSERT INTO "varts_decisions" VALUES(94,2,'rich-78-0',29,1,0,9.83101233646767380669e-01,0,'policy',NULL,1700000077000000);
INSERT INTO "varts_decisions" VALUES(95,2,'rich-79-0',30,1,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000078000000);
INSERT INTO "varts_decisions" VALUES(96,2,'rich-80-0',32,1,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000079000000);
INSERT INTO "varts_decisions" VALUES(97,2,'rich-81-0',33,1,0,9.67727687826315463581e-01,0,'policy',NULL,1700000080000000);
INSERT INTO "varts_decisions" VALUES(98,2,'rich-82-0',34,1,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000081000000);
INSERT INTO "varts_decisions" VALUES(99,2,'rich-83-0',35,1,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000082000000);
INSERT INTO "varts_decisions" VALUES(100,2,'rich-84-0',36,1,0,9.65090821025926803855e-01,0,'policy',NULL,1700000083000000);
INSERT INTO "varts_decisions" VALUES(101,2,'rich-85-0',37,1,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000084000000);
INSERT INTO "varts_decisions" VALUES(102,2,'rich-86-0',38,1,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000085000000);
INSERT INTO "varts_decisions" VALUES(103,2,'rich-87-0',39,1,0,9.67392291564103778966e-01,0,'policy',NULL,1700000086000000);
INSERT INTO "varts_decisions" VALUES(104,2,'rich-88-0',40,1,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000087000000);
INSERT INTO "varts_decisions" VALUES(105,2,'rich-89-0',41,1,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000088000000);
INSERT INTO "varts_decisions" VALUES(106,2,'rich-90-0',43,2,0,9.61540466757507372719e-01,0,'policy',NULL,1700000089000000);
INSERT INTO "varts_decisions" VALUES(107,2,'rich-91-0',44,2,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000090000000);
INSERT INTO "varts_decisions" VALUES(108,2,'rich-92-0',45,2,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000091000000);
INSERT INTO "varts_decisions" VALUES(109,2,'rich-93-0',46,2,1,3.33333333333333314829e-01,0,'holdout',NULL,1700000092000000);
INSERT INTO "varts_decisions" VALUES(110,2,'rich-94-0',47,2,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000093000000);
INSERT INTO "varts_decisions" VALUES(111,2,'rich-95-0',48,2,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000094000000);
INSERT INTO "varts_decisions" VALUES(112,2,'rich-96-0',48,2,0,9.82079093914714817969e-01,0,'policy',NULL,1700000095000000);
INSERT INTO "varts_decisions" VALUES(113,2,'rich-97-0',48,2,0,0.965495973928485,0,'sticky','b24a3f194fdef3b40520f19814873a88',1700000096000000);
INSERT INTO "varts_decisions" VALUES(114,2,'rich-98-0',49,2,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000097000000);
INSERT INTO "varts_decisions" VALUES(115,2,'rich-99-0',50,2,0,9.81298026726695638011e-01,0,'policy',NULL,1700000098000000);
INSERT INTO "varts_decisions" VALUES(116,2,'rich-100-0',51,2,0,9.28897147099056463837e-01,0,'sticky','759edc4805783ace4cfab1ae79062e90',1700000099000000);
INSERT INTO "varts_decisions" VALUES(117,2,'rich-101-0',53,2,0,9.6016435692621615594e-01,0,'sticky','b5d85d3f8c4462bf1a53e14b8c00e8e3',1700000100000000);
INSERT INTO "varts_decisions" VALUES(118,2,'rich-102-0',55,2,0,9.87759846038783639876e-01,0,'policy',NULL,1700000101000000);
INSERT INTO "varts_decisions" VALUES(119,2,'rich-103-0',56,2,0,0.965495973928485,0,'sticky','c3a06f9ce5ffc575ecf6ae58d4e3ccc4',1700000102000000);
INSERT INTO "varts_decisions" VALUES(120,2,'rich-104-0',57,2,1,0.5,0,'sticky','2cf26ffca679f77315b2ae06d5c7b1ea',1700000103000000);
INSERT INTO "varts_decisions" VALUES(121,3,'index-105-0',1,1,1,0.5,0,'forced',NULL,1700000104000000);
INSERT INTO "varts_decisions" VALUES(122,3,'index-106-0',2,1,1,0.5,0,'policy','unit-1',1700000105000000);
INSERT INTO "varts_decisions" VALUES(123,3,'index-107-0',3,1,0,0.5,0,'forced','unit-2',1700000106000000);
INSERT INTO "varts_decisions" VALUES(124,3,'index-108-0',4,1,1,1.0,0,'policy',NULL,1700000107000000);
INSERT INTO "varts_decisions" VALUES(125,3,'index-109-0',5,1,1,1.0,0,'policy','unit-4',1700000108000000);
INSERT INTO "varts_decisions" VALUES(126,3,'index-110-0',6,1,1,1.0,0,'policy','unit-0',1700000109000000);
INSERT INTO "varts_decisions" VALUES(127,3,'index-111-0',7,1,1,1.0,0,'policy',NULL,1700000110000000);
INSERT INTO "varts_decisions" VALUES(128,3,'index-112-0',8,1,0,1.0,0,'policy','unit-2',1700000111000000);
INSERT INTO "varts_decisions" VALUES(129,3,'index-113-0',9,1,1,1.0,0,'policy','unit-3',1700000112000000);
INSERT INTO "varts_decisions" VALUES(130,3,'index-114-0',10,1,1,1.0,0,'policy',NULL,1700000113000000);
INSERT INTO "varts_decisions" VALUES(131,3,'index-115-0',11,1,1,1.0,0,'policy','unit-0',1700000114000000);
INSERT INTO "varts_decisions" VALUES(132,3,'index-116-0',12,1,1,1.0,0,'policy','unit-1',1700000115000000);
INSERT INTO "varts_decisions" VALUES(133,3,'index-117-0',14,1,1,1.0,0,'winner',NULL,1700000116000000);
INSERT INTO "varts_decisions" VALUES(134,3,'index-118-0',15,1,1,1.0,0,'winner','unit-3',1700000117000000);
INSERT INTO "varts_decisions" VALUES(135,3,'index-119-0',16,1,1,1.0,0,'winner','unit-4',1700000118000000);
INSERT INTO "varts_decisions" VALUES(136,4,'coin-0',1,1,1,0.5,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(137,4,'coin-1',2,1,0,6.66666666666666740681e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(138,4,'coin-2',3,1,0,0.5,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(139,4,'coin-3',4,1,0,0.7,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(140,4,'coin-4',5,1,0,8.00000000000000155431e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(141,4,'coin-5',6,1,0,7.14285714285714634641e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(142,4,'coin-6',7,1,0,6.42857142857142904723e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(143,4,'coin-7',8,1,0,7.22222222222222320908e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(144,4,'coin-8',9,1,1,2.22222222222222487442e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(145,4,'coin-9',10,1,0,0.878787878787888,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(146,4,'coin-10',11,1,0,8.40909090909090828347e-01,0,'policy',NULL,1700000119000000);
INSERT INTO "varts_decisions" VALUES(147,4,'coin-11',12,1,0,8.04195804195803942704e-01,0,'policy',NULL,1700000119000000);
CREATE TABLE varts_events (
	experiment INTEGER NOT NULL, 
	version BIGINT NOT NULL, 
	kind VARCHAR NOT NULL, 
	time BIGINT NOT NULL, 
	decision VARCHAR, 
	arm INTEGER, 
	epoch INTEGER, 
	raw DOUBLE, 
	value DOUBLE, 
	body TEXT, 
	PRIMARY KEY (experiment, version)
)
 WITHOUT ROWID

;
INSERT INTO "varts_events" VALUES(1,1,'create',1700000000000000,NULL,NULL,NULL,NULL,NULL,'{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "hash_units": false}, "initial": 3, "epoch": 1, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_events" VALUES(1,2,'reward',1700000001000000,'plain-1-0',2,1,2.82,2.82,NULL);
INSERT INTO "varts_events" VALUES(1,3,'reward',1700000002000000,'plain-2-0',2,1,3.64,3.64,NULL);
INSERT INTO "varts_events" VALUES(1,4,'reward',1700000003000000,'plain-3-0',2,1,2.44,2.44,NULL);
INSERT INTO "varts_events" VALUES(1,5,'reward',1700000004000000,'plain-4-0',0,1,1.26,1.26,NULL);
INSERT INTO "varts_events" VALUES(1,6,'reward',1700000005000000,'plain-5-0',1,1,1.06,1.06,NULL);
INSERT INTO "varts_events" VALUES(1,7,'reward',1700000006000000,'plain-6-0',2,1,2.88,2.88,NULL);
INSERT INTO "varts_events" VALUES(1,8,'reward',1700000007000000,'plain-7-0',0,1,1.7,1.7,NULL);
INSERT INTO "varts_events" VALUES(1,9,'reward',1700000008000000,'plain-8-0',2,1,2.5,2.5,NULL);
INSERT INTO "varts_events" VALUES(1,10,'reward',1700000009000000,'plain-9-0',1,1,2.32,2.32,NULL);
INSERT INTO "varts_events" VALUES(1,11,'reward',1700000010000000,'plain-10-0',2,1,2.12,2.12,NULL);
INSERT INTO "varts_events" VALUES(1,12,'reward',1700000011000000,'plain-11-0',2,1,2.94,2.94,NULL);
INSERT INTO "varts_events" VALUES(1,13,'reward',1700000012000000,'plain-12-0',2,1,3.76,3.76,NULL);
INSERT INTO "varts_events" VALUES(1,14,'reward',1700000013000000,'plain-13-0',2,1,2.56,2.56,NULL);
INSERT INTO "varts_events" VALUES(1,15,'reward',1700000014000000,'plain-14-0',2,1,3.38,3.38,NULL);
INSERT INTO "varts_events" VALUES(1,16,'reward',1700000015000000,'plain-15-0',2,1,2.18,2.18,NULL);
INSERT INTO "varts_events" VALUES(1,17,'reward',1700000016000000,'plain-16-0',2,1,3.0,3.0,NULL);
INSERT INTO "varts_events" VALUES(1,18,'reward',1700000017000000,'plain-17-0',2,1,3.82,3.82,NULL);
INSERT INTO "varts_events" VALUES(1,19,'reward',1700000018000000,'plain-18-0',2,1,2.62,2.62,NULL);
INSERT INTO "varts_events" VALUES(1,20,'reward',1700000019000000,'plain-19-0',2,1,3.44,3.44,NULL);
INSERT INTO "varts_events" VALUES(1,21,'reward',1700000020000000,'plain-20-0',1,1,1.24,1.24,NULL);
INSERT INTO "varts_events" VALUES(1,22,'reward',1700000021000000,'plain-21-0',0,1,1.06,1.06,NULL);
INSERT INTO "varts_events" VALUES(1,23,'reward',1700000021000000,'plain-21-1',2,1,3.06,3.06,NULL);
INSERT INTO "varts_events" VALUES(1,24,'reward',1700000021000000,'plain-21-2',2,1,3.06,3.06,NULL);
INSERT INTO "varts_events" VALUES(1,25,'reward',1700000021000000,'plain-21-3',2,1,3.06,3.06,NULL);
INSERT INTO "varts_events" VALUES(1,26,'reward',1700000021000000,'plain-21-4',2,1,3.06,3.06,NULL);
INSERT INTO "varts_events" VALUES(1,27,'reward',1700000022000000,'plain-22-0',2,1,3.88,3.88,NULL);
INSERT INTO "varts_events" VALUES(1,28,'reward',1700000022000000,'plain-22-1',2,1,3.88,3.88,NULL);
INSERT INTO "varts_events" VALUES(1,29,'reward',1700000022000000,'plain-22-2',2,1,3.88,3.88,NULL);
INSERT INTO "varts_events" VALUES(1,30,'reward',1700000022000000,'plain-22-3',2,1,3.88,3.88,NULL);
INSERT INTO "varts_events" VALUES(1,31,'reward',1700000022000000,'plain-22-4',2,1,3.88,3.88,NULL);
INSERT INTO "varts_events" VALUES(1,32,'reward',1700000023000000,'plain-23-0',2,1,2.68,2.68,NULL);
INSERT INTO "varts_events" VALUES(1,33,'reward',1700000023000000,'plain-23-1',2,1,2.68,2.68,NULL);
INSERT INTO "varts_events" VALUES(1,34,'reward',1700000023000000,'plain-23-2',2,1,2.68,2.68,NULL);
INSERT INTO "varts_events" VALUES(1,35,'reward',1700000023000000,'plain-23-3',2,1,2.68,2.68,NULL);
INSERT INTO "varts_events" VALUES(1,36,'reward',1700000023000000,'plain-23-4',2,1,2.68,2.68,NULL);
INSERT INTO "varts_events" VALUES(1,37,'reward',1700000024000000,'plain-24-0',2,1,3.5,3.5,NULL);
INSERT INTO "varts_events" VALUES(1,38,'reward',1700000024000000,'plain-24-1',2,1,3.5,3.5,NULL);
INSERT INTO "varts_events" VALUES(1,39,'reward',1700000024000000,'plain-24-2',0,1,1.5,1.5,NULL);
INSERT INTO "varts_events" VALUES(1,40,'reward',1700000024000000,'plain-24-3',2,1,3.5,3.5,NULL);
INSERT INTO "varts_events" VALUES(1,41,'reward',1700000024000000,'plain-24-4',2,1,3.5,3.5,NULL);
INSERT INTO "varts_events" VALUES(1,42,'add-arm',1700000024000000,NULL,NULL,NULL,NULL,NULL,'{"arm": "dddd", "prior": null}');
INSERT INTO "varts_events" VALUES(1,43,'reward',1700000025000000,'plain-25-0',2,1,2.3,2.3,NULL);
INSERT INTO "varts_events" VALUES(1,44,'reward',1700000026000000,'plain-26-0',3,1,4.12,4.12,NULL);
INSERT INTO "varts_events" VALUES(1,45,'reward',1700000027000000,'plain-27-0',2,1,3.94,3.94,NULL);
INSERT INTO "varts_events" VALUES(1,46,'reward',1700000028000000,'plain-28-0',2,1,2.74,2.74,NULL);
INSERT INTO "varts_events" VALUES(1,47,'reward',1700000029000000,'plain-29-0',2,1,3.56,3.56,NULL);
INSERT INTO "varts_events" VALUES(1,48,'reward',1700000030000000,'plain-30-0',2,1,2.36,2.36,NULL);
INSERT INTO "varts_events" VALUES(1,49,'reward',1700000031000000,'plain-31-0',2,1,3.18,3.18,NULL);
INSERT INTO "varts_events" VALUES(1,50,'reward',1700000032000000,'plain-32-0',2,1,4.0,4.0,NULL);
INSERT INTO "varts_events" VALUES(1,51,'reward',1700000033000000,'plain-33-0',3,1,3.8,3.8,NULL);
INSERT INTO "varts_events" VALUES(1,52,'pause-arm',1700000034000000,NULL,NULL,NULL,NULL,NULL,'{"arm": "a"}');
INSERT INTO "varts_events" VALUES(1,53,'reward',1700000035000000,'plain-35-0',3,1,3.42,3.42,NULL);
INSERT INTO "varts_events" VALUES(1,54,'reward',1700000036000000,'plain-36-0',3,1,4.24,4.24,NULL);
INSERT INTO "varts_events" VALUES(1,55,'reward',1700000037000000,'plain-37-0',3,1,3.04,3.04,NULL);
INSERT INTO "varts_events" VALUES(1,56,'reward',1700000038000000,'plain-38-0',3,1,3.86,3.86,NULL);
INSERT INTO "varts_events" VALUES(1,57,'reward',1700000039000000,'plain-39-0',3,1,4.68,4.68,NULL);
INSERT INTO "varts_events" VALUES(1,58,'resume-arm',1700000039000000,NULL,NULL,NULL,NULL,NULL,'{"arm": "a"}');
INSERT INTO "varts_events" VALUES(1,59,'configure',1700000039000000,NULL,NULL,NULL,NULL,NULL,'{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "hash_units": false}}');
INSERT INTO "varts_events" VALUES(1,60,'reward',1700000040000000,'plain-40-0',3,2,3.48,3.48,NULL);
INSERT INTO "varts_events" VALUES(1,61,'reward',1700000041000000,'plain-41-0',3,2,4.3,4.3,NULL);
INSERT INTO "varts_events" VALUES(1,62,'reward',1700000042000000,'plain-42-0',3,2,3.1,3.1,NULL);
INSERT INTO "varts_events" VALUES(1,63,'reward',1700000043000000,'plain-43-0',3,2,3.92,3.92,NULL);
INSERT INTO "varts_events" VALUES(1,64,'reward',1700000044000000,'plain-44-0',3,2,4.74,4.74,NULL);
INSERT INTO "varts_events" VALUES(1,65,'reward',1700000045000000,'plain-45-0',3,2,3.54,3.54,NULL);
INSERT INTO "varts_events" VALUES(1,66,'reward',1700000046000000,'plain-46-0',3,2,4.36,4.36,NULL);
INSERT INTO "varts_events" VALUES(1,67,'reward',1700000047000000,'plain-47-0',3,2,3.16,3.16,NULL);
INSERT INTO "varts_events" VALUES(1,68,'reward',1700000048000000,'plain-48-0',3,2,3.98,3.98,NULL);
INSERT INTO "varts_events" VALUES(1,69,'reward',1700000049000000,'plain-49-0',3,2,4.8,4.8,NULL);
INSERT INTO "varts_events" VALUES(2,1,'create',1700000049000000,NULL,NULL,NULL,NULL,NULL,'{"arms": ["a", "bb"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0], "kappa": [2.0, 2.0], "alpha": [3.0, 3.0], "beta": [1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "missing": 2.0, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "hash_units": true}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_events" VALUES(2,2,'reward',1700000050000000,'rich-50-0',0,1,0.6,0.6,NULL);
INSERT INTO "varts_events" VALUES(2,3,'reward',1700000053000000,'rich-53-0',0,1,1.04,1.04,NULL);
INSERT INTO "varts_events" VALUES(2,4,'reward',1700000054000000,'rich-54-0',0,1,1.86,1.86,NULL);
INSERT INTO "varts_events" VALUES(2,5,'reward',1700000055000000,'rich-55-0',0,1,0.66,0.66,NULL);
INSERT INTO "varts_events" VALUES(2,6,'missing',1700000056000000,'rich-51-0',1,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,7,'reward',1700000056000000,'rich-56-0',0,1,1.48,1.48,NULL);
INSERT INTO "varts_events" VALUES(2,8,'missing',1700000057000000,'rich-52-0',0,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,9,'reward',1700000057000000,'rich-57-0',0,1,0.28,0.28,NULL);
INSERT INTO "varts_events" VALUES(2,10,'reward',1700000058000000,'rich-58-0',0,1,1.1,1.1,NULL);
INSERT INTO "varts_events" VALUES(2,11,'reward',1700000059000000,'rich-59-0',1,1,2.92,2.5,NULL);
INSERT INTO "varts_events" VALUES(2,12,'reward',1700000060000000,'rich-60-0',0,1,0.72,0.72,NULL);
INSERT INTO "varts_events" VALUES(2,13,'reward',1700000063000000,'rich-63-0',0,1,1.16,1.16,NULL);
INSERT INTO "varts_events" VALUES(2,14,'reward',1700000064000000,'rich-64-0',1,1,2.98,2.5,NULL);
INSERT INTO "varts_events" VALUES(2,15,'reward',1700000065000000,'rich-65-0',0,1,0.78,0.78,NULL);
INSERT INTO "varts_events" VALUES(2,16,'missing',1700000066000000,'rich-61-0',0,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,17,'reward',1700000066000000,'rich-66-0',0,1,1.6,1.6,NULL);
INSERT INTO "varts_events" VALUES(2,18,'missing',1700000067000000,'rich-62-0',0,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,19,'reward',1700000067000000,'rich-67-0',0,1,0.4,0.4,NULL);
INSERT INTO "varts_events" VALUES(2,20,'reward',1700000068000000,'rich-68-0',0,1,1.22,1.22,NULL);
INSERT INTO "varts_events" VALUES(2,21,'reward',1700000069000000,'rich-69-0',0,1,0.02,0.02,NULL);
INSERT INTO "varts_events" VALUES(2,22,'reward',1700000070000000,'rich-70-0',0,1,0.84,0.84,NULL);
INSERT INTO "varts_events" VALUES(2,23,'reward',1700000073000000,'rich-73-0',0,1,1.28,1.28,NULL);
INSERT INTO "varts_events" VALUES(2,24,'reward',1700000074000000,'rich-74-0',1,1,1.08,1.08,NULL);
INSERT INTO "varts_events" VALUES(2,25,'reward',1700000075000000,'rich-75-0',0,1,0.9,0.9,NULL);
INSERT INTO "varts_events" VALUES(2,26,'missing',1700000076000000,'rich-71-0',0,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,27,'reward',1700000076000000,'rich-76-0',0,1,1.72,1.72,NULL);
INSERT INTO "varts_events" VALUES(2,28,'missing',1700000077000000,'rich-72-0',0,1,NULL,2.0,NULL);
INSERT INTO "varts_events" VALUES(2,29,'reward',1700000077000000,'rich-77-0',0,1,0.52,0.52,NULL);
INSERT INTO "varts_events" VALUES(2,30,'reward',1700000078000000,'rich-78-0',0,1,1.34,1.34,NULL);
INSERT INTO "varts_events" VALUES(2,31,'reward',1700000079000000,'rich-79-0',1,1,1.14,1.14,NULL);
INSERT INTO "varts_events" VALUES(2,32,'add-arm',1700000079000000,NULL,NULL,NULL,NULL,NULL,'{"arm": "ccc", "prior": {"mu": 3.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}}');
INSERT INTO "varts_events" VALUES(2,33,'reward',1700000080000000,'rich-80-0',0,1,0.96,0.96,NULL);
INSERT INTO "varts_events" VALUES(2,34,'reward',1700000081000000,'rich-81-0',0,1,1.78,1.78,NULL);
INSERT INTO "varts_events" VALUES(2,35,'reward',1700000082000000,'rich-82-0',0,1,0.58,0.58,NULL);
INSERT INTO "varts_events" VALUES(2,36,'reward',1700000083000000,'rich-83-0',0,1,1.4,1.4,NULL);
INSERT INTO "varts_events" VALUES(2,37,'reward',1700000084000000,'rich-84-0',0,1,0.2,0.2,NULL);
INSERT INTO "varts_events" VALUES(2,38,'reward',1700000085000000,'rich-85-0',0,1,1.02,1.02,NULL);
INSERT INTO "varts_events" VALUES(2,39,'reward',1700000086000000,'rich-86-0',0,1,1.84,1.84,NULL);
INSERT INTO "varts_events" VALUES(2,40,'reward',1700000087000000,'rich-87-0',0,1,0.64,0.64,NULL);
INSERT INTO "varts_events" VALUES(2,41,'reward',1700000088000000,'rich-88-0',0,1,1.46,1.46,NULL);
INSERT INTO "varts_events" VALUES(2,42,'reward',1700000089000000,'rich-89-0',1,1,1.26,1.26,NULL);
INSERT INTO "varts_events" VALUES(2,43,'configure',1700000089000000,NULL,NULL,NULL,NULL,NULL,'{"options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "hash_units": true}}');
INSERT INTO "varts_events" VALUES(2,44,'reward',1700000090000000,'rich-90-0',0,2,1.08,1.08,NULL);
INSERT INTO "varts_events" VALUES(2,45,'reward',1700000091000000,'rich-91-0',0,2,1.9,1.9,NULL);
INSERT INTO "varts_events" VALUES(2,46,'reward',1700000092000000,'rich-92-0',0,2,0.7,0.7,NULL);
INSERT INTO "varts_events" VALUES(2,47,'reward',1700000093000000,'rich-93-0',1,2,2.52,2.5,NULL);
INSERT INTO "varts_events" VALUES(2,48,'reward',1700000094000000,'rich-94-0',1,2,1.32,1.32,NULL);
INSERT INTO "varts_events" VALUES(2,49,'reward',1700000097000000,'rich-97-0',0,2,0.76,0.76,NULL);
INSERT INTO "varts_events" VALUES(2,50,'reward',1700000098000000,'rich-98-0',0,2,1.58,1.58,NULL);
INSERT INTO "varts_events" VALUES(2,51,'reward',1700000099000000,'rich-99-0',0,2,0.38,0.38,NULL);
INSERT INTO "varts_events" VALUES(2,52,'expired',1700000100000000,'rich-95-0',0,2,NULL,NULL,NULL);
INSERT INTO "varts_events" VALUES(2,53,'reward',1700000100000000,'rich-100-0',0,2,1.2,1.2,NULL);
INSERT INTO "varts_events" VALUES(2,54,'expired',1700000101000000,'rich-96-0',0,2,NULL,NULL,NULL);
INSERT INTO "varts_events" VALUES(2,55,'reward',1700000101000000,'rich-101-0',0,2,0.0,0.0,NULL);
INSERT INTO "varts_events" VALUES(2,56,'reward',1700000102000000,'rich-102-0',0,2,0.82,0.82,NULL);
INSERT INTO "varts_events" VALUES(2,57,'reward',1700000103000000,'rich-103-0',0,2,1.64,1.64,NULL);
INSERT INTO "varts_events" VALUES(2,58,'reward',1700000104000000,'rich-104-0',1,2,1.44,1.44,NULL);
INSERT INTO "varts_events" VALUES(3,1,'create',1700000104000000,NULL,NULL,NULL,NULL,NULL,'{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "hash_units": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_events" VALUES(3,2,'reward',1700000105000000,'index-105-0',1,1,2.26,2.26,NULL);
INSERT INTO "varts_events" VALUES(3,3,'reward',1700000106000000,'index-106-0',1,1,1.06,1.06,NULL);
INSERT INTO "varts_events" VALUES(3,4,'reward',1700000107000000,'index-107-0',0,1,0.88,0.88,NULL);
INSERT INTO "varts_events" VALUES(3,5,'reward',1700000108000000,'index-108-0',1,1,2.7,2.7,NULL);
INSERT INTO "varts_events" VALUES(3,6,'reward',1700000109000000,'index-109-0',1,1,1.5,1.5,NULL);
INSERT INTO "varts_events" VALUES(3,7,'reward',1700000110000000,'index-110-0',1,1,2.32,2.32,NULL);
INSERT INTO "varts_events" VALUES(3,8,'reward',1700000111000000,'index-111-0',1,1,1.12,1.12,NULL);
INSERT INTO "varts_events" VALUES(3,9,'reward',1700000112000000,'index-112-0',0,1,0.94,0.94,NULL);
INSERT INTO "varts_events" VALUES(3,10,'reward',1700000113000000,'index-113-0',1,1,2.76,2.76,NULL);
INSERT INTO "varts_events" VALUES(3,11,'reward',1700000114000000,'index-114-0',1,1,1.56,1.56,NULL);
INSERT INTO "varts_events" VALUES(3,12,'reward',1700000115000000,'index-115-0',1,1,2.38,2.38,NULL);
INSERT INTO "varts_events" VALUES(3,13,'reward',1700000116000000,'index-116-0',1,1,1.18,1.18,NULL);
INSERT INTO "varts_events" VALUES(3,14,'stop',1700000116000000,NULL,NULL,NULL,NULL,NULL,'{"winner": "bb"}');
INSERT INTO "varts_events" VALUES(3,15,'reward',1700000117000000,'index-117-0',1,1,2.0,2.0,NULL);
INSERT INTO "varts_events" VALUES(3,16,'reward',1700000118000000,'index-118-0',1,1,2.82,2.82,NULL);
INSERT INTO "varts_events" VALUES(3,17,'reward',1700000119000000,'index-119-0',1,1,1.62,1.62,NULL);
INSERT INTO "varts_events" VALUES(4,1,'create',1700000119000000,NULL,NULL,NULL,NULL,NULL,'{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "hash_units": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_events" VALUES(4,2,'reward',1700000119000000,'coin-0',1,1,0.0,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,3,'reward',1700000119000000,'coin-1',0,1,3.33333333333333314829e-01,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,4,'reward',1700000119000000,'coin-2',0,1,6.66666666666666629659e-01,1.0,NULL);
INSERT INTO "varts_events" VALUES(4,5,'reward',1700000119000000,'coin-3',0,1,1.0,1.0,NULL);
INSERT INTO "varts_events" VALUES(4,6,'reward',1700000119000000,'coin-4',0,1,0.0,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,7,'reward',1700000119000000,'coin-5',0,1,3.33333333333333314829e-01,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,8,'reward',1700000119000000,'coin-6',0,1,6.66666666666666629659e-01,1.0,NULL);
INSERT INTO "varts_events" VALUES(4,9,'reward',1700000119000000,'coin-7',0,1,1.0,1.0,NULL);
INSERT INTO "varts_events" VALUES(4,10,'reward',1700000119000000,'coin-8',1,1,0.0,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,11,'reward',1700000119000000,'coin-9',0,1,3.33333333333333314829e-01,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,12,'reward',1700000119000000,'coin-10',0,1,6.66666666666666629659e-01,0.0,NULL);
INSERT INTO "varts_events" VALUES(4,13,'reward',1700000119000000,'coin-11',0,1,1.0,1.0,NULL);
INSERT INTO "varts_events" VALUES(4,14,'stop',1700000119000000,NULL,NULL,NULL,NULL,NULL,'{"winner": null}');
CREATE TABLE varts_experiments (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	seed BIGINT NOT NULL, 
	created BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	revision BIGINT NOT NULL, 
	rewards BIGINT NOT NULL, 
	swept BIGINT NOT NULL, 
	config TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "varts_experiments" VALUES(1,'plain',1,1700000000000000,69,59,64,0,'{"arms": ["a", "bb", "ccc", "dddd"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "hash_units": false}, "initial": 3, "epoch": 2, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_experiments" VALUES(2,'rich',9223372036854775807,1700000049000000,58,43,53,1700000103000000,'{"arms": ["a", "bb", "ccc"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "hash_units": true}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null}');
INSERT INTO "varts_experiments" VALUES(3,'index',3,1700000104000000,17,14,15,0,'{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "hash_units": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": 1}');
INSERT INTO "varts_experiments" VALUES(4,'coin',4,1700000119000000,14,14,12,0,'{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "hash_units": false}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": null}');
CREATE TABLE varts_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT varts_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "varts_schema" VALUES('0001');
CREATE TABLE varts_statistics (
	experiment INTEGER NOT NULL, 
	arm INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	rewards BIGINT NOT NULL, 
	n DOUBLE NOT NULL, 
	mean DOUBLE NOT NULL, 
	m2 DOUBLE NOT NULL, 
	origin DOUBLE NOT NULL, 
	at BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (experiment, arm, epoch)
);
INSERT INTO "varts_statistics" VALUES(1,2,1,40,40.0,3.10500000000000164757e-01,1.23103899999999946148e+01,2.82,48,50);
INSERT INTO "varts_statistics" VALUES(1,0,1,4,4.0,0.12,2.3359999999999991882e-01,1.26,38,41);
INSERT INTO "varts_statistics" VALUES(1,1,1,3,3.0,4.79999999999999871214e-01,9.28799999999999625899e-01,1.06,20,21);
INSERT INTO "varts_statistics" VALUES(1,3,1,7,7.0,-2.40000000000000157651e-01,1.75119999999999986783e+00,4.12,54,57);
INSERT INTO "varts_statistics" VALUES(1,3,2,10,10.0,4.58000000000000073718e-01,3.37316,3.48,64,69);
INSERT INTO "varts_statistics" VALUES(2,0,1,34,1.93724496729799326999e+01,0.561193529927807,6.40688810270004349689e+00,0.6,39,41);
INSERT INTO "varts_statistics" VALUES(2,1,1,6,3.30503873551279969689e+00,-4.49492786041527425666e-01,1.05884486721660930896e+00,2.0,40,42);
INSERT INTO "varts_statistics" VALUES(2,0,2,10,8.44608891551511753448e+00,-8.73630035651875302971e-02,2.7168360588943283318e+00,1.08,52,57);
INSERT INTO "varts_statistics" VALUES(2,1,2,3,2.4899011312280117103e+00,-0.784879668405666,6.44972906583936134161e-01,2.5,53,58);
INSERT INTO "varts_statistics" VALUES(3,1,1,13,13.0,-3.15384615384615207833e-01,4.93292307692307652189e+00,2.26,15,17);
INSERT INTO "varts_statistics" VALUES(3,0,1,2,2.0,2.99999999999999711342e-02,1.79999999999999648128e-03,0.88,8,9);
INSERT INTO "varts_statistics" VALUES(4,1,1,2,2.0,0.0,0.0,0.0,9,10);
INSERT INTO "varts_statistics" VALUES(4,0,1,10,10.0,0.5,2.5,0.0,12,13);
CREATE TABLE varts_units (
	experiment INTEGER NOT NULL, 
	unit VARCHAR NOT NULL, 
	arm INTEGER NOT NULL, 
	probability DOUBLE NOT NULL, 
	estimated BOOLEAN NOT NULL, 
	decision VARCHAR NOT NULL, 
	PRIMARY KEY (experiment, unit)
)
 WITHOUT ROWID

;
INSERT INTO "varts_units" VALUES(2,'2cf26ffca679f77315b2ae06d5c7b1ea',1,0.5,0,'rich-59-0');
INSERT INTO "varts_units" VALUES(2,'759edc4805783ace4cfab1ae79062e90',0,9.28897147099056463837e-01,0,'rich-50-0');
INSERT INTO "varts_units" VALUES(2,'b24a3f194fdef3b40520f19814873a88',0,0.965495973928485,0,'rich-52-0');
INSERT INTO "varts_units" VALUES(2,'b5d85d3f8c4462bf1a53e14b8c00e8e3',0,9.6016435692621615594e-01,0,'rich-56-0');
INSERT INTO "varts_units" VALUES(2,'c3a06f9ce5ffc575ecf6ae58d4e3ccc4',0,0.965495973928485,0,'rich-53-0');
CREATE UNIQUE INDEX varts_decisions_id ON varts_decisions (experiment, id);
CREATE INDEX varts_decisions_time ON varts_decisions (experiment, time);
CREATE UNIQUE INDEX varts_events_decision ON varts_events (experiment, decision);
CREATE INDEX varts_statistics_version ON varts_statistics (experiment, version);
COMMIT;
